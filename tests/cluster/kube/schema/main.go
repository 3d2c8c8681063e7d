// Schema prints the table pkg/sandbox/schema/src/types.txt: the types of the API of the Kubernetes that
// go.mod asks for.
//
// What a type is for clients (which fields are required, how lists merge, which kinds it has) is
// from the OpenAPI document of the release. What the document does not tell (what becomes of a
// field that is empty, and how errors call it) is from the Go types.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const (
	module       = "k8s.io/kubernetes"
	documentPath = "api/openapi-spec/swagger.json"

	// What all references start with, and what all names of definitions start with.
	refPrefix  = "#/definitions/"
	namePrefix = "io.k8s."

	// The struct that apiVersion and kind are embedded from, in each kind.
	typeMeta = "TypeMeta"

	head = `# The types of the Kubernetes %s API, from its OpenAPI document and its Go types. Written by
# "make schema", which runs tests/cluster/kube/schema.
#
# A line that is not indented is a type; after it stands "atomic", if it has one owner as a whole,
# and its kinds. An indented line is a field: its name ("!": required) and what becomes of it when
# it is empty ("?": it is left out; "=": it is there with the zero value of what it holds; "~": it
# is there as null; nothing: it is kept as it came), what it holds, and what a strategic merge patch
# does with it. [..] is a list, {..} a map, @ refers to another type. Last, where errors say them:
# the Go structs that the field is embedded from (^), and its Go type (#) if that has another name.
`
)

// The versions whose kinds are in the table, with the types that they are made of: those that
// pkg/sandbox/strategies/src/builtin.rs has resources of.
var versions = []string{
	"v1",
	"admissionregistration.k8s.io/v1",
	"apiextensions.k8s.io/v1",
	"apiregistration.k8s.io/v1",
	"apps/v1",
	"authentication.k8s.io/v1",
	"authorization.k8s.io/v1",
	"autoscaling/v2",
	"batch/v1",
	"certificates.k8s.io/v1",
	"coordination.k8s.io/v1",
	"discovery.k8s.io/v1",
	"flowcontrol.apiserver.k8s.io/v1",
	"networking.k8s.io/v1",
	"node.k8s.io/v1",
	"policy/v1",
	"rbac.authorization.k8s.io/v1",
	"resource.k8s.io/v1",
	"scheduling.k8s.io/v1",
	"storage.k8s.io/v1",
}

// Kinds of other versions that subresources need.
var otherKinds = []string{"autoscaling/v1/Scale"}

// Types that the table has a word for, as they are no objects in JSON.
var words = map[string]string{
	"apimachinery.pkg.api.resource.Quantity":   "quantity",
	"apimachinery.pkg.apis.meta.v1.MicroTime":  "microtime",
	"apimachinery.pkg.apis.meta.v1.Time":       "time",
	"apimachinery.pkg.util.intstr.IntOrString": "intorstring",
}

// By type and format of the OpenAPI document: the table's word, and the type in Go.
var scalars = map[[2]string][2]string{
	{"boolean", ""}:      {"bool", "bool"},
	{"integer", "int32"}: {"int32", "int32"},
	{"integer", "int64"}: {"int64", "int64"},
	{"number", "double"}: {"double", "float64"},
	{"string", ""}:       {"string", "string"},
	{"string", "byte"}:   {"bytes", "[]uint8"},
}

// definition is what is read of a schema of the OpenAPI document.
type definition struct {
	Ref                  string                 `json:"$ref"`
	Type                 string                 `json:"type"`
	Format               string                 `json:"format"`
	Items                *definition            `json:"items"`
	Properties           map[string]*definition `json:"properties"`
	AdditionalProperties *definition            `json:"additionalProperties"`
	Required             []string               `json:"required"`

	Kinds         []kind   `json:"x-kubernetes-group-version-kind"`
	ListType      string   `json:"x-kubernetes-list-type"`
	ListMapKeys   []string `json:"x-kubernetes-list-map-keys"`
	MapType       string   `json:"x-kubernetes-map-type"`
	PatchStrategy string   `json:"x-kubernetes-patch-strategy"`
	PatchMergeKey string   `json:"x-kubernetes-patch-merge-key"`
}

type kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// goField is a field as encoding/json sees it: those of embedded structs are fields of the outer.
type goField struct {
	reflect.StructField
	// The structs that it is embedded from, outermost first.
	within []string
	// The options of its tag: omitempty, omitzero.
	options []string
}

// table collects types, each with its lines.
type table struct {
	// All that there are, by the name in the table.
	definitions map[string]*definition
	goTypes     map[string]reflect.Type
	lines       map[string][]string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("schema: ")
	version, dir, err := release()
	if err != nil {
		log.Fatal(err)
	}
	definitions, err := readDefinitions(filepath.Join(dir, documentPath))
	if err != nil {
		log.Fatal(err)
	}
	t := table{definitions, goTypes(), map[string][]string{}}
	for name, d := range definitions {
		if len(servedKinds(d)) == 0 {
			continue
		}
		if err := t.add(name); err != nil {
			log.Fatal(err)
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, head, strings.TrimPrefix(version, "v"))
	for _, name := range slices.Sorted(maps.Keys(t.lines)) {
		for _, line := range t.lines[name] {
			fmt.Fprintln(&out, line)
		}
	}
	if _, err := out.WriteTo(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// release returns the version of Kubernetes that go.mod asks for, and where its source is. It is
// fetched if it is not there, unlike with `go list`: nothing here is compiled from that module.
func release() (version, dir string, err error) {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", "", fmt.Errorf("cannot find %s: %w", module, err)
	}
	var found struct{ Version, Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return "", "", fmt.Errorf("cannot find %s: %w", module, err)
	}
	return found.Version, found.Dir, nil
}

func readDefinitions(file string) (map[string]*definition, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var document struct {
		Definitions map[string]*definition `json:"definitions"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", file, err)
	}
	definitions := make(map[string]*definition, len(document.Definitions))
	for name, d := range document.Definitions {
		definitions[strings.TrimPrefix(name, namePrefix)] = d
	}
	return definitions, nil
}

// servedKinds returns the kinds of a type that are in the table, as `group/version/kind`.
func servedKinds(d *definition) []string {
	var served []string
	for _, k := range d.Kinds {
		// Types that are a kind of every group (DeleteOptions, WatchEvent) count as core's.
		if len(d.Kinds) > 1 && k.Group != "" {
			continue
		}
		version := path.Join(k.Group, k.Version)
		name := path.Join(version, k.Kind)
		if slices.Contains(versions, version) || slices.Contains(otherKinds, name) {
			served = append(served, name)
		}
	}
	return served
}

// add adds a type and those that it refers to.
func (t *table) add(name string) error {
	if _, ok := t.lines[name]; ok {
		return nil
	}
	d, ok := t.definitions[name]
	if !ok {
		return fmt.Errorf("%s: not in the OpenAPI document", name)
	}
	goType, ok := t.goTypes[name]
	if !ok {
		return fmt.Errorf("%s: no Go type", name)
	}
	title := []string{name}
	if d.MapType == "atomic" {
		title = append(title, "atomic")
	}
	title = append(title, servedKinds(d)...)
	// There before its fields are looked at: a type may refer to itself.
	t.lines[name] = []string{strings.Join(title, " ")}

	goFields := jsonFields(goType, nil)
	for _, property := range slices.Sorted(maps.Keys(d.Properties)) {
		goField, ok := goFields[property]
		if !ok {
			return fmt.Errorf("%s.%s: no Go field", name, property)
		}
		label := property
		if slices.Contains(d.Required, property) {
			label += "!"
		}
		line, err := t.field(label, d.Properties[property], goField)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", name, property, err)
		}
		t.lines[name] = append(t.lines[name], line)
	}
	return nil
}

// field returns the line of a field.
//
// A map type that the document states at a field rather than at its type is not told
// (PersistentVolumeSpec.claimRef, the only one, is granular, although its type is atomic).
func (t *table) field(label string, d *definition, f goField) (string, error) {
	holds, inGo, err := t.shape(d)
	if err != nil {
		return "", err
	}
	parts := []string{" " + label + presence(f), holds}
	if d.PatchStrategy != "" {
		patch := strings.ReplaceAll(d.PatchStrategy, ",", "+")
		if d.PatchMergeKey != "" {
			patch += ":" + d.PatchMergeKey
		}
		parts = append(parts, patch)
	}
	// Who reads the table knows where kind and apiVersion are from.
	if within := strings.Join(f.within, "."); within != "" && within != typeMeta {
		parts = append(parts, "^"+within)
	}
	if goType := deref(f.Type).String(); goType != inGo {
		parts = append(parts, "#"+strings.ReplaceAll(goType, " ", ""))
	}
	return strings.Join(parts, " "), nil
}

// shape returns what a schema holds, as the table says it, and the Go type that one would expect.
// The types that it refers to are added.
func (t *table) shape(d *definition) (holds, inGo string, err error) {
	switch {
	case d.Ref != "":
		return t.reference(strings.TrimPrefix(d.Ref, refPrefix+namePrefix))
	case d.Type == "array":
		holds, inGo, err = t.shape(d.Items)
		switch d.ListType {
		case "", "atomic":
		case "set":
			holds = "set " + holds
		case "map":
			holds = "map:" + strings.Join(d.ListMapKeys, ",") + " " + holds
		default:
			return "", "", fmt.Errorf("unknown type of list %q", d.ListType)
		}
		return "[" + holds + "]", "[]" + inGo, err
	case d.AdditionalProperties != nil:
		holds, inGo, err = t.shape(d.AdditionalProperties)
		if d.MapType == "atomic" {
			holds = "atomic " + holds
		}
		return "{" + holds + "}", "map[string]" + inGo, err
	}
	scalar, ok := scalars[[2]string{d.Type, d.Format}]
	if !ok {
		return "", "", fmt.Errorf("unknown type %q of format %q", d.Type, d.Format)
	}
	return scalar[0], scalar[1], nil
}

func (t *table) reference(name string) (holds, inGo string, err error) {
	// As reflection calls it: v1.Pod.
	parts := strings.Split(name, ".")
	inGo = strings.Join(parts[max(len(parts)-2, 0):], ".")
	if word, ok := words[name]; ok {
		return word, inGo, nil
	}
	// It reads itself because it may be anything.
	if goType, ok := t.goTypes[name]; ok && readsItself(goType) {
		return "any", reflect.TypeFor[any]().String(), nil
	}
	return "@" + name, inGo, t.add(name)
}

// presence returns what becomes of a field that is empty when encoding/json writes it.
func presence(f goField) string {
	// omitempty does nothing for a struct, and a pointer to what is empty is not empty.
	switch kind := f.Type.Kind(); {
	case slices.Contains(f.options, "omitzero"):
		return "?"
	case slices.Contains(f.options, "omitempty"):
		switch kind {
		case reflect.Pointer:
			return ""
		case reflect.Struct:
			return "="
		}
		return "?"
	case kind == reflect.Pointer || kind == reflect.Slice || kind == reflect.Map:
		return "~"
	}
	return "="
}

// goTypes returns the types that are reached from any kind of the API, by the name in the table.
func goTypes() map[string]reflect.Type {
	all := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(all))
	utilruntime.Must(apiextensionsv1.AddToScheme(all))
	utilruntime.Must(apiregistrationv1.AddToScheme(all))

	found := map[string]reflect.Type{}
	for _, kind := range all.AllKnownTypes() {
		collect(kind, found)
	}
	return found
}

func collect(goType reflect.Type, found map[string]reflect.Type) {
	switch goType.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		collect(goType.Elem(), found)
		return
	case reflect.Struct:
	default:
		return
	}
	name := tableName(goType)
	if _, ok := found[name]; ok {
		return
	}
	found[name] = goType
	if readsItself(goType) {
		return
	}
	for _, f := range jsonFields(goType, nil) {
		collect(f.Type, found)
	}
}

// tableName returns `api.core.v1.Pod` for a type Pod in k8s.io/api/core/v1.
func tableName(goType reflect.Type) string {
	module := strings.TrimPrefix(goType.PkgPath(), "k8s.io/")
	return strings.ReplaceAll(module, "/", ".") + "." + goType.Name()
}

// readsItself tells whether JSON says something else than the fields of the Go type do.
func readsItself(goType reflect.Type) bool {
	return reflect.PointerTo(goType).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// jsonFields returns the fields of a struct by their names in JSON.
func jsonFields(goType reflect.Type, within []string) map[string]goField {
	fields := map[string]goField{}
	for i := range goType.NumField() {
		f := goType.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "":
			inner := jsonFields(deref(f.Type), slices.Concat(within, []string{f.Name}))
			// Of two fields with one name, the outer one counts, wherever it stands.
			maps.Copy(inner, fields)
			fields = inner
		default:
			fields[name] = goField{f, within, strings.Split(options, ",")}
		}
	}
	return fields
}

func deref(goType reflect.Type) reflect.Type {
	if goType.Kind() == reflect.Pointer {
		return goType.Elem()
	}
	return goType
}
