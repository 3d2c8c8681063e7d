package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
)

// Operators as they are written; other functions are called by their names.
var operators = map[string]string{
	"!_": "!(%s)", "-_": "-(%s)", "@in": "%s in %s", "_!=_": "%s != %s", "_%_": "%s %% %s",
	"_&&_": "%s && %s", "_*_": "%s * %s", "_+_": "%s + %s", "_-_": "%s - %s", "_/_": "%s / %s",
	"_<=_": "%s <= %s", "_<_": "%s < %s", "_==_": "%s == %s", "_>=_": "%s >= %s", "_>_": "%s > %s",
	"_?_:_": "%s ? %s : %s", "_[?_]": "%s[?%s]", "_[_]": "%s[%s]", "_||_": "%s || %s",
}

var hidden = map[string]bool{
	"_?._": true, "_in_": true, "in": true, "@sortByAssociatedKeys": true, "cel.@mapInsert": true,
	"@not_strictly_false": true, "__not_strictly_false__": true,
}

// A type's constants.
var constants = map[string][]string{
	"bool":      {"true", "false"},
	"bytes":     {"b'a'", `b"\xff"`, "object.data"},
	"double":    {"1.5", "-2e3", ".5", "double('1')"},
	"duration":  {"duration('1h')", "duration('90s')"},
	"int":       {"0", "-1", "0x1F", "size('é')", "9223372036854775807", "--3"},
	"null":      {"null"},
	"string":    {"'a'", `"b\n\t\"é"`, "r'\\d'", `'''c'''`, "request.name", "'日本'", "object.kind"},
	"timestamp": {"timestamp('2020-01-01T00:00:00Z')", "object.metadata.creationTimestamp"},
	"uint":      {"1u", "0xFu"},
	"dyn":       {"dyn(1)", "request.options", "dyn('a')", "oldObject.nothing"},
}

type generator struct {
	*rand.Rand
	functions map[string]*decls.FunctionDecl
	// Overloads by the text of their results.
	results map[string][]call
	// What a kind has, by type.
	paths  []string
	locals []string
}

type call struct {
	name     string
	overload *decls.OverloadDecl
}

func newGenerator(seed uint64, functions map[string]*decls.FunctionDecl) *generator {
	g := &generator{
		Rand: rand.New(rand.NewPCG(seed, 0)), functions: functions, results: map[string][]call{},
	}
	for _, name := range sorted(functions) {
		if hidden[name] {
			continue
		}
		for _, overload := range functions[name].OverloadDecls() {
			result := text(overload.ResultType())
			g.results[result] = append(g.results[result], call{name, overload})
		}
	}
	return g
}

// An expression that has the type mostly, and parses always.
func (g *generator) of(t *types.Type, depth int) string {
	if g.IntN(12) == 0 {
		t = g.anyType(1)
	}
	if g.IntN(9) == 0 && len(g.paths) > 0 {
		return g.path()
	}
	if g.IntN(14) == 0 && len(g.locals) > 0 {
		return g.locals[g.IntN(len(g.locals))]
	}
	if depth <= 0 || g.IntN(5) == 0 {
		return g.constant(t, depth)
	}
	if g.IntN(5) == 0 {
		return g.macro(t, depth)
	}
	calls := append([]call{}, g.results[text(t)]...)
	if len(calls) == 0 || g.IntN(5) == 0 {
		calls = append(calls, g.results["<A>"]...)
		calls = append(calls, g.results["<V>"]...)
		calls = append(calls, g.results["<B>"]...)
	}
	return g.call(calls[g.IntN(len(calls))], t, depth-1)
}

func (g *generator) path() string {
	path := g.paths[g.IntN(len(g.paths))]
	switch g.IntN(8) {
	case 0:
		return strings.Replace(path, ".", ".?", 1)
	case 1:
		return path + "." + []string{"none", "name", "spec", "value"}[g.IntN(4)]
	case 2:
		if strings.Contains(path, ".") && !strings.HasSuffix(path, "]") && !strings.HasSuffix(path, ")") {
			return "has(" + path + ")"
		}
		return path
	default:
		return path
	}
}

func (g *generator) constant(t *types.Type, depth int) string {
	switch t.Kind() {
	case types.ListKind:
		if g.IntN(6) == 0 {
			return "[]"
		}
		element := t.Parameters()[0]
		return fmt.Sprintf("[%s, %s]", g.of(element, depth-1), g.of(element, depth-1))
	case types.MapKind:
		if g.IntN(6) == 0 {
			return "{}"
		}
		key, value := t.Parameters()[0], t.Parameters()[1]
		return fmt.Sprintf("{%s: %s}", g.of(key, depth-1), g.of(value, depth-1))
	case types.TypeKind:
		return []string{"type(1)", "string", "google.protobuf.Timestamp", "list"}[g.IntN(4)]
	case types.OpaqueKind, types.StructKind:
		switch t.TypeName() {
		case "optional_type":
			return fmt.Sprintf("optional.of(%s)", g.of(t.Parameters()[0], depth-1))
		case "net.IP":
			return "ip('::1')"
		case "net.CIDR":
			return "cidr('10.0.0.0/8')"
		case "kubernetes.Quantity":
			return "quantity('1')"
		case "kubernetes.Semver":
			return "semver('1.2.3')"
		case "kubernetes.URL":
			return "url('https://a')"
		case "kubernetes.NamedFormat":
			return "format.dns1123Label()"
		case "kubernetes.authorization.GroupCheck":
			return "authorizer.group('')"
		case "kubernetes.authorization.ResourceCheck":
			return "authorizer.group('').resource('pods')"
		case "kubernetes.authorization.Decision":
			return "authorizer.path('/a').check('get')"
		case "kubernetes.authorization.PathCheck":
			return "authorizer.path('/a')"
		default:
			return "authorizer"
		}
	default:
		all := constants[text(t)]
		if len(all) == 0 {
			all = constants["dyn"]
		}
		return all[g.IntN(len(all))]
	}
}

func (g *generator) anyType(depth int) *types.Type {
	simple := []*types.Type{
		types.BoolType, types.BytesType, types.DoubleType, types.DurationType, types.IntType,
		types.IntType, types.StringType, types.StringType, types.StringType, types.TimestampType,
		types.UintType, types.NullType, types.DynType,
	}
	if depth > 0 {
		switch g.IntN(6) {
		case 0:
			return types.NewListType(g.anyType(depth - 1))
		case 1:
			return types.NewMapType(types.StringType, g.anyType(depth-1))
		case 2:
			return types.NewOptionalType(g.anyType(depth - 1))
		}
	}
	return simple[g.IntN(len(simple))]
}

func (g *generator) call(c call, result *types.Type, depth int) string {
	bound := map[string]*types.Type{}
	if c.overload.ResultType().Kind() == types.TypeParamKind {
		bound[c.overload.ResultType().TypeName()] = result
	}
	args := []string{}
	for _, arg := range c.overload.ArgTypes() {
		args = append(args, g.of(g.closed(arg, bound), depth))
	}
	if g.IntN(25) == 0 && len(args) > 0 && operators[c.name] == "" {
		args = args[1:]
		if c.overload.IsMemberFunction() && len(args) == 0 {
			return c.name + "()"
		}
	}
	if format, found := operators[c.name]; found {
		values := []any{}
		for _, arg := range args {
			values = append(values, "("+arg+")")
		}
		return fmt.Sprintf(format, values...)
	}
	if c.overload.IsMemberFunction() {
		target := args[0]
		if strings.ContainsAny(target, " ?:-") {
			target = "(" + target + ")"
		}
		return fmt.Sprintf("%s.%s(%s)", target, c.name, strings.Join(args[1:], ", "))
	}
	return fmt.Sprintf("%s(%s)", c.name, strings.Join(args, ", "))
}

// The type with one for each parameter.
func (g *generator) closed(t *types.Type, bound map[string]*types.Type) *types.Type {
	switch t.Kind() {
	case types.TypeParamKind:
		if bound[t.TypeName()] == nil {
			bound[t.TypeName()] = g.anyType(1)
		}
		return bound[t.TypeName()]
	case types.ListKind:
		return types.NewListType(g.closed(t.Parameters()[0], bound))
	case types.MapKind:
		return types.NewMapType(g.closed(t.Parameters()[0], bound), g.closed(t.Parameters()[1], bound))
	case types.OpaqueKind:
		params := []*types.Type{}
		for _, param := range t.Parameters() {
			params = append(params, g.closed(param, bound))
		}
		return types.NewOpaqueType(t.TypeName(), params...)
	default:
		return t
	}
}

func (g *generator) macro(t *types.Type, depth int) string {
	name := []string{"x", "y", "_z"}[g.IntN(3)]
	second := []string{"i", "k"}[g.IntN(2)]
	element := g.anyType(1)
	list := g.of(types.NewListType(element), depth-1)
	if g.IntN(3) == 0 {
		list = g.of(types.NewMapType(types.StringType, element), depth-1)
	}
	outside := len(g.locals)
	defer func() { g.locals = g.locals[:outside] }()
	inside := func(t *types.Type) string {
		g.locals = append(g.locals, name, name, second)
		return g.of(t, depth-2)
	}
	switch t.Kind() {
	case types.BoolKind:
		macro := []string{"all", "exists", "exists_one"}[g.IntN(3)]
		if g.IntN(3) == 0 {
			return fmt.Sprintf("(%s).%s(%s, %s, %s)", list, macro, second, name, inside(t))
		}
		return fmt.Sprintf("(%s).%s(%s, %s)", list, macro, name, inside(t))
	case types.ListKind:
		switch g.IntN(5) {
		case 0:
			return fmt.Sprintf("(%s).filter(%s, %s)", list, name, inside(types.BoolType))
		case 1:
			return fmt.Sprintf("(%s).map(%s, %s)", list, name, inside(t.Parameters()[0]))
		case 2:
			return fmt.Sprintf("(%s).map(%s, %s, %s)", list, name, inside(types.BoolType),
				inside(t.Parameters()[0]))
		case 3:
			return fmt.Sprintf("(%s).transformList(%s, %s, %s)", list, second, name,
				inside(t.Parameters()[0]))
		default:
			return fmt.Sprintf("[%s].sortBy(%s, %s)", list, name, inside(types.IntType))
		}
	case types.MapKind:
		if g.IntN(2) == 0 {
			return fmt.Sprintf("(%s).transformMap(%s, %s, %s)", list, second, name,
				inside(t.Parameters()[1]))
		}
		return fmt.Sprintf("(%s).transformMapEntry(%s, %s, %s, {%s: %s})", list, second, name,
			inside(types.BoolType), inside(t.Parameters()[0]), inside(t.Parameters()[1]))
	case types.OpaqueKind:
		if t.TypeName() != "optional_type" {
			return g.constant(t, depth)
		}
		optional := g.of(types.NewOptionalType(element), depth-1)
		if g.IntN(2) == 0 {
			return fmt.Sprintf("(%s).optFlatMap(%s, %s)", optional, name, inside(t))
		}
		return fmt.Sprintf("(%s).optMap(%s, %s)", optional, name, inside(t.Parameters()[0]))
	case types.StringKind:
		verb := []string{"%s", "%d", "%.2f", "%e", "%x", "%b", "%o", "%%", "%q", "%.f"}[g.IntN(10)]
		return fmt.Sprintf("'é%s'.format([%s])", verb, g.of(g.anyType(1), depth-1))
	default:
		return g.constant(t, depth)
	}
}
