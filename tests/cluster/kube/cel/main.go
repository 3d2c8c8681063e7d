// Cel prints what upstream's checker of policies' expressions knows and says.
//
// "cel declarations" prints the functions, the variables and the types that every expression may
// use; "cel warnings SEED CASES" prints kinds with their schemas, expressions about them, and what
// upstream warns of.
package main

import (
	"fmt"
	"log"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// Names that are no declarations, and that the types of protobuf, or upstream's own, still have.
// Those that stand for wrappers are left out, as are messages that have fields.
var probed = []string{
	"any", "date", "duration", "timestamp", "dyn", "google.protobuf.Any",
	"google.protobuf.Duration", "google.protobuf.ListValue", "google.protobuf.Struct",
	"google.protobuf.Timestamp", "google.protobuf.Value", "kubernetes.NamedFormat",
	"kubernetes.Quantity", "kubernetes.Semver", "kubernetes.URL", "net.CIDR", "net.IP",
	"optional_type",
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "declarations":
		declarations()
	case len(os.Args) == 4 && os.Args[1] == "warnings":
		seed, err := strconv.ParseUint(os.Args[2], 10, 64)
		if err != nil {
			log.Fatal(err)
		}
		count, err := strconv.Atoi(os.Args[3])
		if err != nil {
			log.Fatal(err)
		}
		warnings(seed, count)
	default:
		log.Fatal("usage: cel declarations | cel warnings SEED CASES")
	}
}

func declarations() {
	set := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	namespace, request := plugincel.BuildNamespaceType(), plugincel.BuildRequestType()
	set, err := set.Extend(environment.VersionedOptions{
		IntroducedVersion: environment.DefaultCompatibilityVersion(),
		DeclTypes:         []*apiservercel.DeclType{namespace, request},
	})
	if err != nil {
		log.Fatal(err)
	}
	env := set.StoredExpressionsEnv()
	functions := env.Functions()
	for _, name := range sorted(functions) {
		fmt.Println("fn", name)
		for _, overload := range functions[name].OverloadDecls() {
			style := "global"
			if overload.IsMemberFunction() {
				style = "member"
			}
			line := []string{"", style, text(overload.ResultType())}
			for _, arg := range overload.ArgTypes() {
				line = append(line, text(arg))
			}
			fmt.Println(strings.Join(line, " "))
		}
	}
	variables := map[string]string{}
	for _, variable := range env.Variables() {
		variables[variable.Name()] = text(variable.Type())
	}
	for _, name := range probed {
		if ast, issues := env.Compile(name); issues == nil {
			variables[name] = text(ast.OutputType())
		}
	}
	for _, name := range sorted(variables) {
		fmt.Println("var", name, variables[name])
	}
	found := apiservercel.FieldTypeMap("", namespace)
	for name, declared := range apiservercel.FieldTypeMap("", request) {
		found[name] = declared
	}
	for _, name := range sorted(found) {
		if !found[name].IsObject() {
			continue
		}
		fmt.Println("type", name)
		for _, field := range sorted(found[name].Fields) {
			fmt.Println("", field, text(found[name].Fields[field].Type.CelType()))
		}
	}
	macros := map[string]bool{}
	for _, macro := range env.Macros() {
		macros[macro.MacroKey()] = true
	}
	for _, name := range sorted(macros) {
		fmt.Println("macro", name)
	}
}

// A type without a space in it: "#" starts a structure, "@" an abstract type, "<" a parameter.
func text(t *types.Type) string {
	params := []string{}
	for _, param := range t.Parameters() {
		params = append(params, text(param))
	}
	within := ""
	if len(params) > 0 {
		within = "(" + strings.Join(params, ",") + ")"
	}
	switch t.Kind() {
	case types.TypeParamKind:
		return "<" + t.TypeName() + ">"
	case types.StructKind:
		return "#" + t.TypeName()
	case types.OpaqueKind:
		return "@" + t.TypeName() + within
	case types.ListKind, types.MapKind, types.TypeKind:
		return t.TypeName() + within
	default:
		return cel.FormatCELType(t)
	}
}

func sorted[T any](from map[string]T) []string {
	names := []string{}
	for name := range from {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
