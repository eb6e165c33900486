// Writes down what the kinds of Kubernetes are made of, for the embedded API server: the members of the Go types in their
// order, how Go reads and writes them, and what OpenAPI says of merging, defaults and allowed values. No descriptions.
//
// Usage: see the head of src/korder/embedded/apiserver/types/types.txt, which this program writes to its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime/debug"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kubernetes/pkg/generated/openapi"
)

const head = `# What the kinds of Kubernetes %s are made of. Made, from the root of the repository, by
#   (cd hack/controlplane && CGO_ENABLED=0 go run -trimpath ./types) > src/korder/embedded/apiserver/types/types.txt
# A section is a Go package: its short name here, its name in OpenAPI, its name in Go's messages and, if there are kinds in
# it, their apiVersion. A line is a type; the notation is explained in table.py.
`

// What a server of this version serves unless it is told otherwise, and what its clients send along.
var served = []string{
	"v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1", "apiregistration.k8s.io/v1", "apps/v1",
	"authentication.k8s.io/v1", "authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1",
	"certificates.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1", "events.k8s.io/v1",
	"flowcontrol.apiserver.k8s.io/v1", "networking.k8s.io/v1", "node.k8s.io/v1", "policy/v1",
	"rbac.authorization.k8s.io/v1", "resource.k8s.io/v1", "scheduling.k8s.io/v1", "storage.k8s.io/v1",
}

// Types that read and write themselves.
var special = map[string]string{
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                                         "@quantity",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                                       "@intorstring",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                                             "@time",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                                        "@microtime",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                                         "@duration",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                                         "@object",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                                          "@raw",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":                         "@json",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrArray":       "@schemaorarray",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrBool":        "@schemaorbool",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaPropsOrStringArray": "@schemaorstrings",
}

var marshaler = reflect.TypeFor[json.Marshaler]()
var typeMeta = reflect.TypeFor[metav1.TypeMeta]()

type writer struct {
	definitions map[string]common.OpenAPIDefinition
	versions    map[string]string
	lines       map[string]map[string]string
}

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	w := &writer{
		definitions: openapi.GetOpenAPIDefinitions(func(path string) spec.Ref { return spec.MustCreateRef("#/" + path) }),
		versions:    map[string]string{"k8s.io/apimachinery/pkg/apis/meta/v1": "v1"},
		lines:       map[string]map[string]string{},
	}
	for _, text := range served {
		version, err := schema.ParseGroupVersion(text)
		must(err)
		for _, kind := range scheme.Scheme.KnownTypes(version) {
			if strings.HasSuffix(kind.PkgPath(), "apis/meta/v1") && text != "v1" {
				continue
			}
			if !strings.Contains(kind.PkgPath(), "apis/meta/v1") {
				w.versions[kind.PkgPath()] = text
			}
			w.describe(kind)
		}
	}
	w.print()
}

func (w *writer) print() {
	fmt.Printf(head, kubernetes())
	packages := sorted(w.lines)
	for _, path := range packages {
		parts := strings.Split(path, "/")
		fmt.Printf("\n[%s %s %s %s]\n", short(path), openAPIPackage(path), parts[len(parts)-1], w.versions[path])
		for _, name := range sorted(w.lines[path]) {
			fmt.Println(strings.TrimSpace(name + " " + w.lines[path][name]))
		}
	}
}

// describe writes the line of a type and of all that it leads to.
func (w *writer) describe(t reflect.Type) {
	lines := w.lines[t.PkgPath()]
	if lines == nil {
		lines = map[string]string{}
		w.lines[t.PkgPath()] = lines
	}
	if _, done := lines[t.Name()]; done {
		return
	}
	lines[t.Name()] = ""
	if form, ok := special[t.PkgPath()+"."+t.Name()]; ok {
		lines[t.Name()] = "= " + form
		if strings.HasPrefix(form, "@schema") {
			w.reference(reflect.TypeFor[apiextensions.JSONSchemaProps](), t.PkgPath())
		}
		return
	}
	if reflect.PointerTo(t).Implements(marshaler) {
		panic("writes itself: " + t.String())
	}
	if t.Kind() != reflect.Struct {
		lines[t.Name()] = "= " + w.shape(t, t.PkgPath())
		return
	}
	definition := w.definitions[modelName(t)]
	members := w.members(t, "", definition.Schema, t.PkgPath())
	marks := ""
	if definition.Schema.Extensions["x-kubernetes-map-type"] == "atomic" {
		marks += "atomic "
	}
	if field, ok := t.FieldByName("TypeMeta"); ok && field.Type == typeMeta {
		marks += "kind "
	}
	lines[t.Name()] = marks + ": " + strings.Join(members, " ")
}

func (w *writer) members(t reflect.Type, via string, described spec.Schema, from string) []string {
	var members []string
	for i := range t.NumField() {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("json"), ",")
		if tag[0] == "-" {
			continue
		}
		if field.Type == typeMeta {
			continue // every kind has it
		}
		if tag[0] == "" {
			if !field.Anonymous || field.Type.Kind() != reflect.Struct {
				panic("a member without a name: " + t.String() + "." + field.Name)
			}
			members = append(members, w.members(field.Type, via+"@"+field.Name, described, from)...)
			continue
		}
		property, known := described.Properties[tag[0]]
		if !known && len(described.Properties) > 0 {
			panic("unknown to OpenAPI: " + t.String() + "." + field.Name)
		}
		members = append(members, tag[0]+via+omission(tag[1:])+":"+w.reference(field.Type, from)+
			w.facts(field, property, contains(described.Required, tag[0]), from))
	}
	return members
}

func omission(options []string) string {
	mark := ""
	for _, option := range options {
		switch option {
		case "omitempty":
			mark += "?"
		case "omitzero":
			mark += "~"
		case "string":
			panic("a quoted number")
		}
	}
	return mark
}

// facts are what is known of a member beyond its type.
func (w *writer) facts(field reflect.StructField, property spec.Schema, required bool, from string) string {
	text := ""
	if required {
		text += ";required"
	}
	if kind, ok := property.Extensions["x-kubernetes-list-type"].(string); ok {
		text += ";" + kind
		if keys, ok := property.Extensions["x-kubernetes-list-map-keys"].([]interface{}); ok {
			var names []string
			for _, key := range keys {
				names = append(names, key.(string))
			}
			text += "=" + strings.Join(names, ",")
		}
	}
	if kind, ok := property.Extensions["x-kubernetes-map-type"].(string); ok {
		text += ";" + kind
	}
	if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
		text += ";patch=" + strategy
	}
	if key := field.Tag.Get("patchMergeKey"); key != "" {
		text += ";key=" + key
	}
	if property.Default != nil && !trivial(property.Default, field) {
		encoded, err := json.Marshal(property.Default)
		must(err)
		text += ";default=" + string(encoded)
	}
	allowed := property.Enum
	if property.Items != nil && property.Items.Schema != nil {
		allowed = property.Items.Schema.Enum
	}
	if property.AdditionalProperties != nil && property.AdditionalProperties.Schema != nil {
		allowed = property.AdditionalProperties.Schema.Enum
	}
	if len(allowed) > 0 {
		var values []string
		for _, value := range allowed {
			values = append(values, strings.ReplaceAll(value.(string), " ", "%20"))
		}
		text += ";enum=" + strings.Join(values, "|")
	}
	if strings.ContainsAny(text, " \n") {
		panic("a fact with a space: " + field.Name + text)
	}
	return text
}

// trivial says whether a default is what Go writes anyhow.
func trivial(value interface{}, field reflect.StructField) bool {
	encoded, err := json.Marshal(value)
	must(err)
	switch string(encoded) {
	case `""`, "0", "false":
		return field.Type.Kind() != reflect.Pointer && !strings.Contains(field.Tag.Get("json"), ",omit")
	case "{}":
		return true
	}
	return false
}

func (w *writer) reference(t reflect.Type, from string) string {
	if t.Name() == "" || t.PkgPath() == "" {
		return w.shape(t, from)
	}
	w.describe(t)
	if t.PkgPath() == from {
		return t.Name()
	}
	return short(t.PkgPath()) + "." + t.Name()
}

func (w *writer) shape(t reflect.Type, from string) string {
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + w.reference(t.Elem(), from)
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + w.reference(t.Elem(), from)
	case reflect.Map:
		key := ""
		if t.Key().PkgPath() != "" {
			key = w.reference(t.Key(), from)
		}
		return "{" + key + "}" + w.reference(t.Elem(), from)
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		return t.Kind().String()
	}
	panic("cannot describe " + t.String())
}

// short names a package: k8s.io/api/core/v1 is core/v1.
func short(path string) string {
	parts := strings.Split(path, "/")
	if path == "k8s.io/api/"+strings.Join(parts[2:], "/") || strings.HasPrefix(parts[len(parts)-1], "v") {
		return strings.Join(parts[len(parts)-2:], "/")
	}
	return parts[len(parts)-1]
}

func modelName(t reflect.Type) string {
	if named, ok := reflect.New(t).Interface().(interface{ OpenAPIModelName() string }); ok {
		return named.OpenAPIModelName()
	}
	return openAPIPackage(t.PkgPath()) + "." + t.Name()
}

func openAPIPackage(path string) string {
	return "io.k8s." + strings.ReplaceAll(strings.TrimPrefix(path, "k8s.io/"), "/", ".")
}

// kubernetes finds the version of the module that the types come from.
func kubernetes() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	panic("no module k8s.io/kubernetes")
}

func sorted[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func contains(list []string, wanted string) bool {
	for _, each := range list {
		if each == wanted {
			return true
		}
	}
	return false
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
