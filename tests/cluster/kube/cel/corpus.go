package main

import "k8s.io/apimachinery/pkg/runtime/schema"

var (
	deployment = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
	service    = schema.GroupVersionKind{Version: "v1", Kind: "Service"}
	configMap  = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	definition = schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition",
	}
	widget = schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Widget"}
	bare   = schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Bare"}
	blank  = schema.GroupVersionKind{Group: "example.com", Version: "v1beta1", Kind: "Blank"}
	kinds  = []schema.GroupVersionKind{
		deployment, service, configMap, definition, widget, bare, blank,
	}
)

// The schemas of built-in kinds.
var rootsOf = map[string][]any{
	"io.k8s.api.apps.v1.Deployment": gvk(deployment),
	"io.k8s.api.core.v1.Service":    gvk(service),
	"io.k8s.api.core.v1.ConfigMap":  gvk(configMap),
	"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition": gvk(
		definition),
}

func gvk(kind schema.GroupVersionKind) []any {
	return []any{
		map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind},
	}
}

// Schemas of custom kinds, with all that a schema can say of a type.
var customs = map[schema.GroupVersionKind]string{
	bare:  `{"type": "object", "properties": {"foo": {"type": "string"}}}`,
	blank: `{}`,
	widget: `{
  "type": "object",
  "properties": {
    "apiVersion": {"type": "string"}, "kind": {"type": "string"},
    "metadata": {"type": "object"},
    "spec": {"type": "object", "properties": {
      "any": {"x-kubernetes-preserve-unknown-fields": true},
      "bool": {"type": "boolean"},
      "bytes": {"type": "string", "format": "byte"},
      "date": {"type": "string", "format": "date"},
      "duration": {"type": "string", "format": "duration"},
      "embedded": {"type": "object", "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true},
      "email": {"type": "string", "format": "email"},
      "empty": {"type": "object"},
      "float": {"type": "number", "format": "double"},
      "for": {"type": "integer"},
      "free": {"type": "object", "additionalProperties": true},
      "closed": {"type": "object", "additionalProperties": false,
        "properties": {"a": {"type": "integer"}}},
      "int": {"type": "integer", "format": "int64", "nullable": true},
      "items": {"type": "array", "items": {"type": "object", "properties": {
        "name": {"type": "string"}, "ports": {"type": "array", "items": {"type": "integer"}}}}},
      "manyEmbedded": {"type": "array", "items": {"type": "object",
        "x-kubernetes-embedded-resource": true, "properties": {"extra": {"type": "integer"}}}},
      "map": {"type": "object", "additionalProperties": {"type": "integer"}},
      "mapOfLists": {"type": "object", "additionalProperties": {"type": "array",
        "items": {"type": "object", "properties": {"x": {"type": "number"}}}}},
      "mapOfUnknown": {"type": "object", "additionalProperties": {}},
      "matrix": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}},
      "namespace": {"type": "string"},
      "noItems": {"type": "array"},
      "port": {"x-kubernetes-int-or-string": true, "maxLength": 5},
      "portOf": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}},
      "strings": {"type": "array", "items": {"type": "string"}},
      "time": {"type": "string", "format": "date-time"},
      "unknownItems": {"type": "array", "items": {}},
      "a-b": {"type": "string"}, "c.d/e": {"type": "integer"}, "f__g": {"type": "boolean"},
      "1st": {"type": "string"}, "h i": {"type": "string"}, "_j": {"type": "string"}
    }},
    "status": {"type": "object", "properties": {
      "conditions": {"type": "array", "items": {"type": "object", "properties": {
        "type": {"type": "string"}, "status": {"type": "string"},
        "lastTransitionTime": {"type": "string", "format": "date-time"}}}}}}
  }
}`,
}

// What generated expressions ask of a kind.
var paths = map[string][]string{
	"Deployment": {
		"object.spec.replicas", "oldObject.spec.template.spec.containers",
		"object.spec.template.spec.containers[0].image", "object.spec.strategy",
		"object.metadata.labels", "object.spec.strategy.rollingUpdate.maxSurge", "object",
		"object.spec.template.spec.containers.map(c, c.image)", "object.metadata.annotations",
		"object.spec.template.spec.containers[0].resources.limits", "object.spec.selector",
	},
	"Service":   {"object.spec.ports", "object.spec.ports[0].targetPort", "object.spec.selector"},
	"ConfigMap": {"object.data", "object.binaryData", "object.immutable", "object.data['a']"},
	"CustomResourceDefinition": {
		"object.spec.versions", "object.spec.versions[0].schema.openAPIV3Schema.properties",
		"object.spec.names.shortNames", "object.spec.versions[0].served",
	},
	"Widget": {
		"object.spec.any", "object.spec.bool", "object.spec.bytes", "object.spec.date",
		"object.spec.duration", "object.spec.embedded.metadata.name", "object.spec.empty",
		"object.spec.float", "object.spec.for", "object.spec.free", "object.spec.int",
		"object.spec.items", "object.spec.map", "object.spec.mapOfLists", "object.spec.matrix",
		"object.spec.namespace", "object.spec.port", "object.spec.strings", "object.spec.time",
		"object.spec.a__dash__b", "object.spec.c__dot__d__slash__e", "object.spec.items[0]",
	},
	"Bare":  {"object.foo", "object.metadata.name", "object.metadata.labels"},
	"Blank": {"object.foo", "object"},
}

var commonPaths = []string{
	"request.userInfo.groups", "request.kind", "request.userInfo.extra", "request.dryRun",
	"namespaceObject.metadata.labels", "namespaceObject.status.conditions", "authorizer",
	"namespaceObject.metadata.creationTimestamp",
}

// Cases that people write, and that try corners.
var written = cases()

func cases() []testCase {
	found := []testCase{}
	for _, expression := range expressions {
		found = append(found, testCase{Kind: 0, Expression: expression})
	}
	for _, expression := range widgetExpressions {
		found = append(found, testCase{Kind: 4, Expression: expression})
	}
	for kind := range kinds {
		for _, expression := range anywhere {
			found = append(found, testCase{Kind: kind, Expression: expression})
		}
	}
	params := func(kind, params int, expression string) {
		found = append(found, testCase{Kind: kind, Params: &params, Expression: expression})
	}
	params(0, 2, "object.spec.replicas == params.data")
	params(0, 2, "object.spec.replicas == params.data.replicas")
	params(0, 4, "object.spec.replicas > params.spec.int && params.spec.nothing")
	params(0, 6, "params != null && params.any.thing > 1")
	params(6, 0, "object.any == params.spec.replicas && params.spec.replicaz > 1")
	with := func(expression string, variables ...string) {
		it := testCase{Expression: expression}
		for place := 0; place < len(variables); place += 2 {
			it.Variables = append(it.Variables, [2]string{variables[place], variables[place+1]})
		}
		found = append(found, it)
	}
	with("variables.a > 'b'", "a", "object.spec.replicas")
	with("variables.a > 'b'", "a", "object.spec.replicaz")
	with("variables.c > 'b'", "a", "object.spec.replicas")
	with("variables.b > 'b'", "b", "variables.a", "a", "object.spec.replicas")
	with("variables.b > 'b'", "a", "object.spec.replicas", "b", "variables.a + 1")
	with("variables.b.foo", "a", "object.spec", "b", "variables.a.replicas")
	with("variables.a.nothing", "a", "object.spec")
	with("variables.a.nothing", "a", "object.spec.template.spec.containers")
	with("variables.a[0].nothing == 1 && variables.b['x'].y", "a",
		"object.spec.template.spec.containers", "b", "{'x': [1, 2]}")
	with("variables.a + 1 == 'x' && variables.b == 1", "a", "optional.of(1)", "b", "type(1)")
	with("variables.a == 1", "a", "[]")
	with("variables.a == [1] && variables.b + 'a'", "a", "[[]]", "b", "1", "b", "'b'")
	with("variables.namespace == 1 && variables.for", "namespace", "'a'")
	with("variables == 1 && variables.a == 'a'", "a", "null")
	with("variables.a == 'a' && variables.b == 1", "a", "duration('1h')", "b",
		"timestamp('2020-01-01T00:00:00Z')")
	with("variables.a.x && variables.b", "a", "dyn(1)", "b", "b'1'")
	return found
}

// Over all kinds.
var anywhere = []string{
	"object.metadata.name == 1", "object.metadata.labels.foo == 1", "object.kind == 1",
	"has(object.metadata.nothing)", "object == oldObject", "object.foo > 1",
	"object.metadata.namespace.startsWith(1)", "object.apiVersion + 1", "object + 1 == 2",
}

// Over Deployments.
var expressions = []string{
	"true", "1", "-1", "--1", "---1", "!-1", "!!true", "!!!1", "- 1", "-(1)", "-1.5", "-1u", "-'a'",
	"1 - -1", "1-1u", "a", ".a", ".object.spec.replicas > 'a'", "a.b", "a.b.c(1)", "a(1)", "a.b(c.d)",
	"object.spec.replicas > 1", "object.spec.replicas > '1'", "object.foo == 'bar'",
	"object.spec.nonExistingFirst > 1",
	"object.spec.replicas > '1' && object.spec.nonExisting == 1",
	"object.spec.replicas > '1' &&\n\tobject.spec.nonExisting == 1 ||\n  object.spec.replicas < 'é'",
	"'é日本' == 'a' || object.spec.replicas > 'é' // commented\n && 'é日' > object.spec.replicas",
	"// first\n\n  object.spec.replicas\n    + 'a'", "\t\tobject.spec.replicas\t+\t'a'",
	"object.spec.replicas > 1.0", "object.spec.replicas == 1.0", "object.spec.replicas == 1u",
	"object.spec.replicas in [1, 2]", "object.spec.replicas in ['a']", "'a' in object.metadata.labels",
	"1 in object.metadata.labels", "object.metadata.labels['a'] == 1", "object.metadata.labels[1]",
	"object.metadata.labels.a.b", "object.metadata.labels['a'].b == 'c'", "object.metadata['name']",
	"object.spec.template.spec.containers.all(c, c.image.startsWith('a'))",
	"object.spec.template.spec.containers.all(c, c.images.startsWith('a'))",
	"object.spec.template.spec.containers.all(c, c.image.startsWith(1))",
	"object.spec.template.spec.containers.all(c, c.image)",
	"object.spec.template.spec.containers.exists(c, c)",
	"object.spec.template.spec.containers.exists_one(c, c.name == 1)",
	"object.spec.template.spec.containers.exists_one(c, c.name)",
	"object.spec.template.spec.containers.existsOne(c, c.name == 'a')",
	"object.spec.template.spec.containers.map(c, c.name).exists(n, n == 1)",
	"object.spec.template.spec.containers.map(c, c.name, c.image)",
	"object.spec.template.spec.containers.map(c, c.name == 'a', c.image) == [1]",
	"object.spec.template.spec.containers.filter(c, c.name)",
	"object.spec.template.spec.containers.filter(c, c.name == 'a')[0].nothing",
	"object.spec.template.spec.containers.filter(c, true).size() == '1'",
	"object.metadata.labels.all(k, k == 1)", "object.metadata.labels.all(k, v, v == 1 || k == 1)",
	"object.spec.template.spec.containers.all(i, c, i == 'a' || c.nothing)",
	"object.spec.template.spec.containers.exists(i, c, i == 0 && c.name == 1)",
	"object.spec.template.spec.containers.existsOne(i, c, c.name)",
	"object.metadata.labels.transformMap(k, v, v + 1)",
	"object.metadata.labels.transformMap(k, v, k == 'a', v).a + 1",
	"object.metadata.labels.transformMapEntry(k, v, {v: k})[1]",
	"object.metadata.labels.transformMapEntry(k, v, v)",
	"object.metadata.labels.transformList(k, v, v + 1)",
	"object.metadata.labels.transformList(k, v, v == 'a', k)[0] + 1",
	"object.spec.all(c, true)", "object.spec.replicas.all(c, true)", "'a'.map(x, x)",
	"object.spec.template.spec.containers.sortBy(c, c.name)[0].nothing",
	"object.spec.template.spec.containers.sortBy(c, c)",
	"object.spec.replicas.sortBy(c, c)", "[3, 1].sortBy(x, -x) == ['a']",
	"has(object.spec.replicas)", "has(object.spec.nothing)", "has(object.spec.replicas.nothing)",
	"has(object.metadata.labels.a)", "has(object.metadata.labels.a.b)",
	"object.?spec.?replicas.orValue(1) > 'a'", "object.?spec.?nothing.orValue(1) > 1",
	"object.spec.?replicas.orValue('a')", "object.spec.?replicas > 1",
	"object.spec.template.spec.containers[?0].?image.orValue('') == 1",
	"object.spec.template.spec.containers[?'a']", "object.metadata.?labels.a.hasValue()",
	"object.metadata.?labels['a'].value() == 1", "object.metadata.?labels[?'a'].or(1)",
	"object.metadata.labels[?1]", "object.spec.replicas[?1]", "object.spec.replicas[0]",
	"optional.of(1) == optional.of('a')", "optional.none().orValue(1) + 'a'",
	"optional.of(object).?spec.replicas.orValue('a')", "optional.ofNonZeroValue('a').value() + 1",
	"object.spec.?replicas.optMap(r, r + 'a')", "object.spec.?replicas.optMap(r, r + 1) == 1",
	"object.spec.?replicas.optFlatMap(r, r)", "object.spec.?replicas.optFlatMap(r, optional.of(r)) > 1",
	"object.spec.replicas.optMap(r, r)", "object.spec.?nothing.optMap(r, r.optMap(s, t))",
	"optional.of([1]).optMap(x, x[0]).optMap(y, y + 'a').optMap(z, z)",
	"[?object.spec.?replicas, 1] == ['a']", "[?object.spec.replicas]", "[?'a', 1]",
	"{?'a': object.spec.?replicas} == {'a': 'b'}", "{?'a': 1}", "[?optional.none(), 1]",
	"[1, 'a']", "[1, 1.0]", "[1, null]", "[null, object]", "[object, null]", "[dyn(1), 'a']",
	"['a', dyn(1)]", "[[], [1]]", "[[1], []]", "[[1], ['a']]", "[[], [[]]]", "{}", "{'a': 1, 1: 'a'}",
	"{'a': 1, 'b': dyn(1)}", "{'a': dyn(1), 'b': 1, 'c': 'd'}", "{'a': [], 'b': [1]}", "[1, 2,]", "[,]",
	"{,}", "{'a': 1,}", "[object.spec.replicas, 1u]", "[object.spec, object.metadata]",
	"[object.spec.strategy.rollingUpdate.maxSurge, 1]", "[1, object.spec.strategy.rollingUpdate.maxSurge]",
	"[[dyn(1)], [1]]", "[{'a': 1}, {'a': dyn(1)}]", "[optional.of(1), optional.of(dyn(1))]",
	"true ? 1 : 'a'", "1 ? 1 : 2", "true ? object.spec : object.metadata", "true ? null : object.spec",
	"true ? object.spec.replicas : null", "true ? dyn(1) : 'a'", "true ? [] : [1]", "true ? [1] : []",
	"object.spec.paused ? 'a' : object.spec.replicas", "1 + 2 * 3 == '7'", "(1 + 2) * 'a'",
	"1 < 2 < 3", "1 == 1 == true", "1 == 2 == 3", "1 && 2 && 3 && 4 && 5", "1 || 2 || 3 || true || 'a'",
	"true && 1 || false && 'a' && object", "object.spec && object.spec.replicas", "!object.spec",
	"!object.spec.paused", "!(object.spec.replicas)", "-object.spec", "-object.spec.replicas == 'a'",
	"object.spec.replicas.foo", "object.spec.replicas.foo.bar.baz", "object.spec.nothing.foo.bar",
	"object.spec.template.spec.containers.name", "object.spec.template.spec.containers[0].nothing",
	"object.spec.template.spec.containers['a'].name", "object.spec.template.spec.containers[0][1]",
	"object.spec.template.spec.containers[0].ports[0].containerPort == '80'",
	"object.spec.template.spec.containers[0].resources.limits['cpu']",
	"object.spec.template.spec.containers[0].resources.limits",
	"object.spec.template.spec.containers[0].livenessProbe.httpGet.port == 80",
	"object.spec.template.spec.containers[0].livenessProbe.httpGet.port.foo",
	"object.spec.template.spec.nodeSelector.all(k, k + 1)",
	"object.metadata.creationTimestamp > timestamp('2020-01-01T00:00:00Z')",
	"object.metadata.creationTimestamp > '2020-01-01T00:00:00Z'",
	"object.metadata.creationTimestamp - duration('1h') > object.metadata.deletionTimestamp",
	"object.metadata.creationTimestamp.getHours('UTC') == 'a'",
	"object.metadata.ownerReferences.exists(o, o.kind == 1 || o.controller == 'a')",
	"object.metadata.managedFields[0].fieldsV1.foo", "object.metadata.managedFields[0].time == 1",
	"request.kind.group == 1", "request.foo", "request.userInfo.username == 1", "request.options.a.b",
	"request.userInfo.groups.exists(g, g == 1)", "request.userInfo.extra['a'] == 'b'",
	"request.object", "request.dryRun == 'a'", "request.operation in ['CREATE', 1]", "request == object",
	"namespaceObject.metadata.labels.env == 1", "namespaceObject.foo", "namespaceObject.metadata.uid",
	"namespaceObject.metadata.UID == 1", "namespaceObject.spec.finalizers.exists(f, f == 1)",
	"namespaceObject.status.conditions[0].lastTransitionTime == 1",
	"authorizer.group('').resource('endpoints').check('create').allowed()",
	"authorizer.allowed()", "authorizer.requestResource.check('create').allowed()", "authorizer.foo",
	"authorizer.group('a').resource('b').subresource('c').namespace('d').name('e').check('f').reason() == 1",
	"authorizer.path('/a').check('get').errored() == 'a'", "authorizer.serviceAccount('a').group('b')",
	"authorizer.group('a').resource('b').fieldSelector('a=b').labelSelector(1)", "authorizer + 1",
	"authorizer.group(1)", "authorizer == null", "[authorizer, authorizer.group('a')]", "params.a == 1",
	"variables.a", "variables", "type(object) == Deployment", "type(1) == int", "type(1) == 'int'",
	"type(object.spec.replicas) == string", "type(object) == map", "type(1) == type", "type(type(1))",
	"type(object.metadata.creationTimestamp) == google.protobuf.Timestamp", "int == 1", "list.foo",
	"[int, string]", "[int, list]", "type(type) == 1 && string", "list + map", "string('a') + int('1')",
	"dyn(object).foo.bar > 1", "dyn(object) + dyn(1) == 'a'", "size(object)", "size(1)", "object.size()",
	"object.metadata.labels.size() == 'a'", "size(object.metadata.labels, 1)", "'a'.size(1)", "size()",
	"quantity('1').isGreaterThan(quantity('2'))", "quantity(1)", "quantity('1').add(1).add('a')",
	"quantity('1') > quantity('2')", "quantity('1') == '1'", "quantity('a').foo", "sign(quantity('1')) == 'a'",
	"ip('1.2.3.4').family() == '4'", "ip(1)", "ip('a').foo", "isIP(1)", "ip.isCanonical('a') + 1",
	"ip.isCanonical(1)", "cidr('10.0.0.0/8').containsIP(1)", "cidr('10.0.0.0/8').ip().family() == 'a'",
	"cidr('10.0.0.0/8').containsCIDR(cidr('10.0.0.0/9')) && 1", "cidr('a').masked().prefixLength() + 'a'",
	"url('https://a').getHost() == 1", "url('https://a').getQuery()['a'] == 'b'", "isURL(1)", "url('a').foo",
	"semver('1.2.3').major() == '1'", "semver('1.2.3', true).isLessThan('1')", "isSemver('a', 'b')",
	"format.dns1123Label().validate('a').hasValue()", "format.named('a').value().validate(1)",
	"!format.dns1123Label().validate(object.metadata.name).hasValue() && format.foo()",
	"format.dns1123Label.validate('a')", "object.metadata.name.matches('^a$') == 1", "matches('a', 1)",
	"'a'.find('a') + 1", "'a'.findAll('a', 'b')", "'a'.findAll('a')[0] + 1", "['a'].join(1)", "[1].join()",
	"'a'.split('b')[0] + 1", "'a'.charAt('b')", "'a'.replace('b', 'c', 'd')", "'a'.substring(1, 2) + 1",
	"'a'.lowerAscii().upperAscii().trim().foo()", "strings.quote(1)", "'a'.reverse()", "[1].reverse() == ['a']",
	"['a', 'b'].sum()", "[1, 2].sum() + 'a'", "[1, 2].max() == 'a'", "[object.spec.replicas].min() + 'a'",
	"[object.spec].isSorted()", "[1].indexOf('a')", "['a'].lastIndexOf('a') + 'b'", "[1].slice(0, 'a')",
	"[[1], [2]].flatten() == ['a']", "[1].flatten()", "[[1]].flatten(2)[0] + 'a'", "[1, 1].distinct()[0] + 'a'",
	"lists.range(3) == ['a']", "lists.range('a')", "[3, 1].sort()[0] + 'a'", "[object].sort()", "[1].first() + 1",
	"[1].last().value() + 'a'", "sets.contains([1], ['a'])", "sets.equivalent([1], [2]) + 1",
	"sets.intersects(object.metadata.finalizers, [1])", "sets.intersects(object.metadata.finalizers, ['a'])",
	"optional.unwrap([optional.of(1)]) == ['a']", "[optional.of(1)].unwrapOpt()[0] + 'a'",
	"'%d'.format([object.spec.replicas])", "'%d'.format([object.metadata.name])", "'%s'.format([object])",
	"'%s %s'.format(['a'])", "'%s'.format(['a', 1])", "'%'.format(['a'])", "'%q'.format(['a'])", "'%5d'.format([1])",
	"'%.2f'.format([1])", "'%.2f'.format([1.0, 'a', object.spec])", "'%.f'.format([1.0])", "'%.'.format([1.0])",
	"'%.99999999999999999999f'.format([1.0])", "'%s'.format([[1, object.spec]])", "'%x'.format([1.0])",
	"'%X'.format([object.metadata.creationTimestamp])", "'%b'.format(['a'])", "'%o'.format([true])",
	"'%e'.format([1])", "'%s'.format([{'a': object.spec, 'b': 1}])", "'%s'.format([optional.of(1)])",
	"'%s%%%d'.format(['a', 1]) + 1", "'%d'.format(object.metadata.finalizers)", "'%d'.format(1)", "'%é'.format([1])",
	"object.metadata.name.format([1, 'a'])", "'%s'.format([dyn(1)])", "'%d'.format([[1, 'a'].size()])",
	"'%s' .format([object.metadata.labels, object.metadata.creationTimestamp, null, type(1)])",
	"duration('1h') + 1", "timestamp('2020-01-01T00:00:00Z') + duration('1h') == 1", "duration('1h') == null",
	"timestamp(1) - timestamp(2) > 'a'", "null == 1", "null == object", "object.spec == null", "null + 1",
	"object.metadata.name == null", "b'a' + 'a'", "b'a' == 'a'", "bytes('a') + b'b' == 1", "0x1F + 'a'", "1e3 + 1",
	".5 + 1", "1u + 1", "r'a\\d' + 1", "'''a\nb''' + 1", "\"\"\"a\"b\"\"\" + 1", "br'a' + 1",
	"'\\u00e9\\U0001F600\\x41\\101' + 1", "object.spec.replicas", "object", "object.spec.template.spec",
	"[object.spec.template.spec.containers, object.spec.template.spec.initContainers].map(l, l[0].nothing)",
	"object.spec.template.spec.containers + object.spec.template.spec.volumes",
	"object.spec.template.spec.containers + [1]", "object.metadata.labels + object.metadata.annotations",
	"object.metadata.labels == object.spec.selector.matchLabels",
	"object.spec.selector == object.metadata", "object.spec.template == object", "object.spec == oldObject.spec",
	"object.spec.selector.matchExpressions.all(e, e.operator in ['In', 1])", "[].all(x, x.foo > 1)",
	"[].all(x, x > 1 && x > 'a')", "[].map(x, x) + [1] == ['a']", "{}.all(k, v, k > 1 && v > 'a')", "[][0] + 1",
	"[].exists(x, x == y)", "[[]].all(x, x.all(y, y > 1))", "[1].map(x, [x].map(y, [y])) == 1", "{}.a.b.c",
	"[].map(x, [x]).map(y, y[0] + 1)[0] + 'a'", "[1].map(object, object + 'a')", "[1].map(x, x.y)",
	"[1].all(int, int == 1) && int == 1", "[1].map(x, [2].map(x, x + 'a'))", "[1].exists(request, request.foo)",
	"object.spec.template.spec.containers.all(c, c.ports.all(p, p.containerPort > 80 && p.foo))",
	"object.for", "object.spec.namespace", "object.metadata.namespace == 1", "foo.bar.baz", "foo.bar['a']",
	"object . spec . replicas + 'a'", "( ( object.spec.replicas ) ) + 'a'", "object.spec.\nreplicas.\nfoo",
	"cel.bind(x, 1, x)", "math.greatest(1, 2)", "base64.encode(b'a')", "jsonpatch.escapeKey('a')", "proto.a(b)",
	"has(object.spec) ? has(object.spec.replicas) : 1", "object.?a.b.?c", "a.?b", "a[?b]", "dyn(1).?a.b + 1",
	"google.protobuf.Duration == type(duration('1s')) && 1 > 'a'", "google.protobuf.Struct", "(1).foo", "'a'.foo",
	"[1, 2, 3].filter(i, i > 1).map(i, i + 'a')", "!(1 in [1]) && 2 in ['a']", "1 in 2", "'a' in 'b'", "1 in {1: 2}",
	"true == 1 != 2", "1 + true - 'a' * null / object % 2", "[true, 1 > 'a', b]", "{a: b, c: d}", "f(a, b, c)",
}

// Over a kind with odd fields.
var widgetExpressions = []string{
	"object.spec.any", "object.spec.bool && object.spec.int", "object.spec.bytes == 'a'",
	"object.spec.date == object.spec.time", "object.spec.duration == object.spec.time",
	"object.spec.embedded.foo", "object.spec.embedded.metadata.name == 1",
	"object.spec.embedded.metadata.labels", "object.spec.embedded.apiVersion == object.spec.embedded.kind",
	"object.spec.email == 1", "object.spec.empty.foo", "object.spec.float == 1", "object.spec.float + 1",
	"object.spec.for == 'a'", "object.spec.__for__ == 'a'", "object.spec.free.foo", "object.spec.closed.a + 'a'",
	"object.spec.closed.b", "object.spec.int == null", "object.spec.items[0].name == 1",
	"object.spec.items[0].ports[0] == 'a'", "object.spec.items.all(i, i.foo)", "object.spec.items == 1",
	"object.spec.manyEmbedded[0].metadata.name == 1", "object.spec.manyEmbedded[0].extra == 'a'",
	"object.spec.manyEmbedded[0].foo", "object.spec.map.a == 'a'", "object.spec.map['a'] == 'a'",
	"object.spec.map == object.metadata", "object.spec.mapOfLists.a[0].x == 1", "object.spec.mapOfLists.a[0].y",
	"object.spec.mapOfLists == 1", "object.spec.mapOfUnknown.a", "object.spec.matrix[0][0] == 'a'",
	"object.spec.matrix == 1", "object.spec.namespace == 1", "object.spec.__namespace__ == 1",
	"object.spec.noItems", "object.spec.port == 1 && object.spec.port == 'a' && object.spec.port.foo",
	"object.spec.portOf.a + 1", "object.spec.strings.exists(s, s == 1)", "object.spec.time == 1",
	"object.spec.unknownItems", "object.spec.a__dash__b == 1", "object.spec.c__dot__d__slash__e == 'a'",
	"object.spec.f__underscores__g == 'a'", "object.spec.f__g", "object.spec.a-b", "object.spec._j == 1",
	"object.metadata.name == 1", "object.metadata.generateName == 1", "object.metadata.labels",
	"object.status.conditions.exists(c, c.type == 1 || c.lastTransitionTime == 'a' || c.foo)",
	"[object.spec.port, 1]", "[object.spec.items[0], object.spec.embedded]", "object.spec",
	"'%s %d'.format([object.spec.port, object.spec.for])", "'%d'.format([object.spec.float])",
	"object.spec.?items[?0].?ports.optMap(p, p[0] + 'a')", "object.spec.items.map(i, i.ports).flatten() == ['a']",
}
