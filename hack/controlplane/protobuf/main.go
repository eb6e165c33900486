// Writes down the numbers that the members of Kubernetes' types have in protobuf, for the embedded API server: clients such as
// kubectl send some of their bodies in it. Types whose members are simply counted from 1 are left out.
//
// Usage: see the head of src/korder/embedded/apiserver/types/protobuf.txt, which this program writes to its standard output.
package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const head = `# The numbers of members in protobuf, in the order of the members in types.txt. Made, from the root of the repository, by
#   (cd hack/controlplane && CGO_ENABLED=0 go run -trimpath ./protobuf) > src/korder/embedded/apiserver/types/protobuf.txt
# A member of an embedded struct has the number of that struct, a point, and its own. Types that are left out count from 1.
`

var marshaler = reflect.TypeFor[json.Marshaler]()
var typeMeta = reflect.TypeFor[metav1.TypeMeta]()

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	lines := map[string]string{}
	for _, kind := range scheme.Scheme.AllKnownTypes() {
		if !strings.Contains(kind.PkgPath(), "alpha") && !strings.Contains(kind.PkgPath(), "beta") {
			describe(kind, lines)
		}
	}
	fmt.Print(head)
	var names []string
	for name, line := range lines {
		if line != "" {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Println(name, lines[name])
	}
}

func describe(t reflect.Type, lines map[string]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	name := short(t.PkgPath()) + "." + t.Name()
	if _, done := lines[name]; done || t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(marshaler) {
		return
	}
	lines[name] = ""
	found := numbers(t, "", lines)
	for position, number := range found {
		if number != fmt.Sprint(position+1) {
			lines[name] = strings.Join(found, " ")
		}
	}
}

func numbers(t reflect.Type, prefix string, lines map[string]string) []string {
	var found []string
	for i := range t.NumField() {
		field := t.Field(i)
		name := strings.Split(field.Tag.Get("json"), ",")[0]
		if name == "-" || field.Type == typeMeta || !field.IsExported() {
			continue
		}
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) < 2 {
			return nil // it has a form of its own
		}
		if name == "" {
			found = append(found, numbers(field.Type, prefix+tag[1]+".", lines)...)
			continue
		}
		found = append(found, prefix+tag[1])
		describe(field.Type, lines)
	}
	return found
}

func short(path string) string {
	parts := strings.Split(path, "/")
	if strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(parts[len(parts)-1], "v") {
		return strings.Join(parts[len(parts)-2:], "/")
	}
	return parts[len(parts)-1]
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
