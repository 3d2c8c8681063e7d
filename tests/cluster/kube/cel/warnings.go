package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionregistration "k8s.io/api/admissionregistration/v1"
	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

// How often a case is asked: what upstream says of it now this and now that is left out.
const asked = 4

const reference = "#/components/schemas/"

// A case: what is checked, and what upstream says.
type testCase struct {
	Kind       int         `json:"kind"`
	Params     *int        `json:"params,omitempty"`
	Variables  [][2]string `json:"variables,omitempty"`
	Expression string      `json:"expression"`
	Warning    string      `json:"warning,omitempty"`
}

type output struct {
	Document map[string]any   `json:"document"`
	Kinds    []map[string]any `json:"kinds"`
	Cases    []testCase       `json:"cases"`
}

type checker struct {
	builtin resolver.SchemaResolver
	custom  map[schema.GroupVersionKind]*spec.Schema
	kinds   []schema.GroupVersionKind
}

func (c *checker) ResolveSchema(kind schema.GroupVersionKind) (*spec.Schema, error) {
	if found := c.custom[kind]; found != nil {
		return found, nil
	}
	return c.builtin.ResolveSchema(kind)
}

func warnings(seed uint64, count int) {
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	c := &checker{
		builtin: resolver.NewDefinitionsSchemaResolver(
			openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme),
		custom: map[schema.GroupVersionKind]*spec.Schema{},
	}
	schemas := c.load()
	env := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	g := newGenerator(seed, env.StoredExpressionsEnv().Functions())
	all := output{Document: map[string]any{"components": map[string]any{"schemas": schemas}}}
	for _, kind := range c.kinds {
		all.Kinds = append(all.Kinds, map[string]any{
			"group": kind.Group, "version": kind.Version, "kind": kind.Kind,
		})
	}
	for _, it := range written {
		c.add(&all, env.StoredExpressionsEnv(), it)
	}
	for len(all.Cases) < count {
		c.add(&all, env.StoredExpressionsEnv(), c.generated(g))
	}
	packed, err := gzip.NewWriterLevel(os.Stdout, gzip.BestCompression)
	if err != nil {
		log.Fatal(err)
	}
	lines := json.NewEncoder(packed)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(all); err != nil {
		log.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		log.Fatal(err)
	}
}

// The kinds, and the schemas that they are made of.
func (c *checker) load() map[string]any {
	c.kinds = append(c.kinds, kinds...)
	schemas := map[string]any{}
	definitions := openapi.GetOpenAPIDefinitions(func(path string) spec.Ref {
		return spec.MustCreateRef(reference + name(path))
	})
	paths := map[string]string{}
	for path := range definitions {
		paths[name(path)] = path
	}
	var take func(string)
	take = func(called string) {
		if schemas[called] != nil {
			return
		}
		value := plain(definitions[paths[called]].Schema)
		schemas[called] = value
		references(value, take)
	}
	for called, roots := range rootsOf {
		take(called)
		schemas[called].(map[string]any)["x-kubernetes-group-version-kind"] = roots
	}
	for kind, text := range customs {
		value := map[string]any{}
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			log.Fatal(err)
		}
		parsed := &spec.Schema{}
		if err := json.Unmarshal([]byte(text), parsed); err != nil {
			log.Fatal(err)
		}
		value["x-kubernetes-group-version-kind"] = []any{map[string]any{
			"group": kind.Group, "version": kind.Version, "kind": kind.Kind,
		}}
		schemas[kind.Kind] = value
		c.custom[kind] = parsed
	}
	return schemas
}

func name(path string) string {
	return strings.ReplaceAll(path, "/", ".")
}

// The schema as JSON, without what no type depends on.
func plain(of spec.Schema) map[string]any {
	text, err := json.Marshal(of)
	if err != nil {
		log.Fatal(err)
	}
	value := map[string]any{}
	if err := json.Unmarshal(text, &value); err != nil {
		log.Fatal(err)
	}
	strip(value)
	return value
}

func strip(value map[string]any) {
	// As the API server publishes a reference that has something beside it.
	if to, found := value["$ref"]; found && value["default"] != nil {
		value["allOf"] = []any{map[string]any{"$ref": to}}
		delete(value, "$ref")
	}
	for _, key := range []string{
		"description", "default", "enum", "required", "x-kubernetes-list-type",
		"x-kubernetes-list-map-keys", "x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key",
		"x-kubernetes-map-type", "x-kubernetes-unions", "x-kubernetes-validations",
	} {
		delete(value, key)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := value[key].(map[string]any); ok {
			strip(inner)
		}
	}
	if properties, ok := value["properties"].(map[string]any); ok {
		for _, property := range properties {
			strip(property.(map[string]any))
		}
	}
}

func references(value any, take func(string)) {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			if to, ok := inner.(string); ok && key == "$ref" {
				take(strings.TrimPrefix(to, reference))
			}
			references(inner, take)
		}
	case []any:
		for _, inner := range value {
			references(inner, take)
		}
	}
}

func (c *checker) generated(g *generator) testCase {
	it := testCase{Kind: g.IntN(len(c.kinds))}
	g.paths = append([]string{}, paths[c.kinds[it.Kind].Kind]...)
	g.paths = append(g.paths, commonPaths...)
	g.locals = nil
	if g.IntN(4) == 0 {
		params := (it.Kind + 1 + g.IntN(len(c.kinds)-1)) % len(c.kinds)
		it.Params = &params
		for _, path := range paths[c.kinds[params].Kind] {
			g.paths = append(g.paths, strings.Replace(path, "object", "params", 1))
		}
	}
	for place := range g.IntN(3) {
		name := fmt.Sprintf("v%d", place)
		it.Variables = append(it.Variables, [2]string{name, g.of(g.anyType(1), 2)})
		g.paths = append(g.paths, "variables."+name, "variables."+name)
	}
	expected := types.BoolType
	if g.IntN(4) == 0 {
		expected = g.anyType(2)
	}
	it.Expression = g.of(expected, 4)
	return it
}

// Adds a case, unless it does not parse or upstream is of several opinions.
func (c *checker) add(all *output, env *cel.Env, it testCase) {
	for _, variable := range it.Variables {
		if _, issues := env.Parse(variable[1]); issues.Err() != nil {
			return
		}
	}
	if _, issues := env.Parse(it.Expression); issues.Err() != nil {
		log.Printf("does not parse: %s: %v", it.Expression, issues.Err())
		return
	}
	it.Warning = c.check(it)
	for range asked - 1 {
		if c.check(it) != it.Warning {
			return
		}
	}
	// The API server takes no policy with such a literal, and ours does not look for one.
	if wrongLiteral.MatchString(it.Warning) {
		return
	}
	for place, variable := range it.Variables {
		alone := testCase{
			Kind: it.Kind, Params: it.Params, Variables: it.Variables[:place], Expression: variable[1],
		}
		if wrongLiteral.MatchString(c.check(alone)) {
			return
		}
	}
	all.Cases = append(all.Cases, it)
}

var wrongLiteral = regexp.MustCompile("invalid (duration|timestamp|matches) argument")

func (c *checker) check(it testCase) string {
	kind := c.kinds[it.Kind]
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.AddSpecific(kind, kind.GroupVersion().WithResource("things"),
		kind.GroupVersion().WithResource("thing"), meta.RESTScopeRoot)
	policy := &admissionregistration.ValidatingAdmissionPolicy{}
	policy.Spec.MatchConstraints = &admissionregistration.MatchResources{
		ResourceRules: []admissionregistration.NamedRuleWithOperations{{
			RuleWithOperations: admissionregistration.RuleWithOperations{
				Rule: admissionregistration.Rule{
					APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version},
					Resources: []string{"things"},
				},
			},
		}},
	}
	if it.Params != nil {
		version, name := c.kinds[*it.Params].ToAPIVersionAndKind()
		policy.Spec.ParamKind = &admissionregistration.ParamKind{APIVersion: version, Kind: name}
	}
	for _, variable := range it.Variables {
		policy.Spec.Variables = append(policy.Spec.Variables, admissionregistration.Variable{
			Name: variable[0], Expression: variable[1],
		})
	}
	policy.Spec.Validations = []admissionregistration.Validation{{Expression: it.Expression}}
	upstream := validating.TypeChecker{SchemaResolver: c, RestMapper: mapper}
	found := upstream.Check(policy)
	if len(found) == 0 {
		return ""
	}
	// Upstream names the types of a kind by the time.
	warning := regexp.MustCompile(kind.Kind+`\d+`).ReplaceAllString(found[0].Warning, kind.Kind+"0")
	if it.Params != nil {
		params := c.kinds[*it.Params].Kind
		warning = regexp.MustCompile(params+`\d+`).ReplaceAllString(warning, params+"1")
	}
	return warning
}
