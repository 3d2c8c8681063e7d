// Cron prints what robfig/cron makes of schedules: when each is due next, again and again, in many
// time zones and mostly around the hours when their clocks are set; and what is wrong with those
// that it refuses. The arguments are a seed and how many cases.
//
// A line that starts with a name is a zone. An indented line is a case in it: the second since 1970
// to begin at, then how many seconds later the schedule is due, as often as that was asked ("-": in
// none of the next five years), then the schedule. A line that starts with "!" is a schedule that
// is refused and why, both quoted.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata"

	"k8s.io/kubernetes/pkg/util/parsers"
)

const (
	// How often a case asks for the next time.
	rounds = 4
	// One in so many cases is a schedule with an error in it.
	refused = 8
)

// Zones whose clocks are set in odd ways: at midnight, by half an hour or two, backwards in
// summer, by laws that change; and some that are not.
var zones = []string{
	"UTC", "Africa/Cairo", "Africa/Johannesburg", "Africa/Monrovia", "America/Asuncion",
	"America/Havana", "America/New_York", "America/Santiago", "America/Sao_Paulo",
	"America/Scoresbysund", "America/St_Johns", "Antarctica/Troll", "Asia/Amman", "Asia/Beirut",
	"Asia/Gaza", "Asia/Kathmandu", "Asia/Kolkata", "Asia/Tehran", "Asia/Tokyo", "Atlantic/Azores",
	"Australia/Lord_Howe", "Europe/Berlin", "Europe/Dublin", "Europe/London", "Etc/GMT+10",
	"Pacific/Auckland", "Pacific/Chatham", "Pacific/Easter",
}

// Schedules that people write, and that have shown faults.
var written = []string{
	"* * * * *", "*/5 * * * *", "0 * * * ?", "30 2 * * *", "0 0 * * *", "15 0 * * *", "30 1 * * *",
	"59 23 31 2 *", "0 0 29 2 *", "30 6-16/4 * * 1-5", "30 10,11,12 * * 1-5", "0 12 * * 4",
	"0 0 */2 * 1", "0 0 1-7 * 1", "0 0 1,15 * 5", "0 0 * * 0", "0 0 31 * *", "0 0 30 2 *",
	"0 0 13 * fri", "5/15 * * jan-mar,DEC Mon", "0 0,23 * * *", "*/7 */5 */3 */2 */2",
	"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly", "@every 1h",
	"@every 1h30m10s", "@every 1.5s", "@every 100ms", "@every -5m", "@every 24h", "@every 0",
	", * * * *", "0 , * * *", "0 0 , * *", "0 0 1 , *", "0 0 1 1 ,",
}

type bounds struct {
	min, max int
	names    []string
}

var fields = []bounds{
	{0, 59, nil}, {0, 23, nil}, {1, 31, nil},
	{1, 12, []string{"jan", "Feb", "MAR", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{0, 6, []string{"sun", "Mon", "TUE", "wed", "thu", "fri", "sat"}},
}

type generator struct{ *rand.Rand }

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: cron SEED CASES")
	}
	seed, count := number(os.Args[1]), number(os.Args[2])
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	for zone := range zones {
		location, err := time.LoadLocation(zones[zone])
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(zones[zone])
		for range int(count) / len(zones) {
			if g.IntN(refused) == 0 {
				g.printRefused()
			} else {
				g.printDue(location)
			}
		}
	}
}

func number(text string) uint64 {
	number, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		log.Fatal(err)
	}
	return number
}

func (g generator) printDue(zone *time.Location) {
	schedule := g.schedule()
	parsed, err := parsers.ParseCronScheduleWithPanicRecovery("TZ=" + zone.String() + " " + schedule)
	if err != nil {
		log.Fatalf("%q: %v", schedule, err)
	}
	at := g.moment(zone)
	var line strings.Builder
	fmt.Fprintf(&line, "\t%d", at.Unix())
	for range rounds {
		next := parsed.Next(at)
		if next.IsZero() {
			line.WriteString(" -")
			break
		}
		fmt.Fprintf(&line, " %d", next.Unix()-at.Unix())
		at = next
	}
	fmt.Printf("%s\t%s\n", line.String(), schedule)
}

// Moment is mostly within a day of when clocks are set, often to the second or the half hour.
func (g generator) moment(zone *time.Location) time.Time {
	at := time.Date(2001+g.IntN(36), time.Month(1+g.IntN(12)), 1+g.IntN(28), g.IntN(24), g.IntN(60), g.IntN(60), 0, zone)
	_, change := at.ZoneBounds()
	if change.IsZero() || change.Year() > 2036 || g.IntN(5) == 0 {
		return at
	}
	switch g.IntN(3) {
	case 0:
		return change.Add(time.Duration(g.IntN(13)-6) * 30 * time.Minute)
	case 1:
		return change.Add(time.Duration(g.IntN(5)-2) * time.Second)
	default:
		return change.Add(time.Duration(g.IntN(2*86400)-86400) * time.Second)
	}
}

func (g generator) schedule() string {
	if g.IntN(3) == 0 {
		return written[g.IntN(len(written))]
	}
	parts := make([]string, len(fields))
	for at, field := range fields {
		parts[at] = "*"
		// Days are mostly free, or most schedules would be due almost never.
		if at < 2 || g.IntN(2) == 0 {
			parts[at] = g.field(field)
		}
	}
	return strings.Join(parts, " ")
}

func (g generator) field(b bounds) string {
	parts := make([]string, 1+g.IntN(2)*g.IntN(3))
	for at := range parts {
		parts[at] = g.part(b)
	}
	return strings.Join(parts, ",")
}

func (g generator) part(b bounds) string {
	from := b.min + g.IntN(b.max-b.min+1)
	to := from + g.IntN(b.max-from+1)
	step := 1 + g.IntN(b.max)
	switch g.IntN(7) {
	case 0:
		return "*"
	case 1:
		return "?"
	case 2:
		return fmt.Sprintf("*/%d", step)
	case 3:
		return fmt.Sprintf("%s/%d", g.value(b, from), step)
	case 4:
		return fmt.Sprintf("%s-%s", g.value(b, from), g.value(b, to))
	case 5:
		return fmt.Sprintf("%s-%s/%d", g.value(b, from), g.value(b, to), step)
	default:
		return g.value(b, from)
	}
}

func (g generator) value(b bounds, value int) string {
	if b.names != nil && g.IntN(2) == 0 {
		return b.names[value-b.min]
	}
	return strconv.Itoa(value)
}

// PrintRefused takes a good schedule and writes over a few of its bytes.
func (g generator) printRefused() {
	const bytes = "0123456789*/-,?@ TZ=.+smhx\"\\\t"
	for {
		schedule := []byte(g.schedule())
		for range 1 + g.IntN(3) {
			at, with := g.IntN(len(schedule)), bytes[g.IntN(len(bytes))]
			if g.IntN(2) == 0 {
				schedule[at] = with
			} else {
				schedule = append(schedule[:at], append([]byte{with}, schedule[at:]...)...)
			}
		}
		if _, err := parsers.ParseCronScheduleWithPanicRecovery(string(schedule)); err != nil {
			line, err := json.Marshal([]string{string(schedule), err.Error()})
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(string(line))
			return
		}
	}
}
