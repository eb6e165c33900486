// Encodes objects of Kubernetes as its own programs do, for tests of the embedded API server: reads objects in JSON, one per line,
// and writes for each a line with the bytes that a client would send, in base64, a space, and the JSON of what a server reads from them.
// An object that is none of its kind gets an empty line.
package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

func main() {
	must(apiextensions.AddToScheme(scheme.Scheme))
	must(apiregistration.AddToScheme(scheme.Scheme))
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	reader := scheme.Codecs.UniversalDeserializer()
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		object, kind, err := reader.Decode(lines.Bytes(), nil, nil)
		if err != nil {
			fmt.Println()
			continue
		}
		object.GetObjectKind().SetGroupVersionKind(*kind)
		var encoded bytes.Buffer
		must(serializer.Encode(object, &encoded))
		again, _, err := serializer.Decode(encoded.Bytes(), nil, nil)
		must(err)
		again.GetObjectKind().SetGroupVersionKind(*kind)
		text, err := json.Marshal(again)
		must(err)
		fmt.Println(base64.StdEncoding.EncodeToString(encoded.Bytes()), string(text))
	}
	must(lines.Err())
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
