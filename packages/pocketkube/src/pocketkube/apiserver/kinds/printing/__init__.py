"""The tables of the kinds of Kubernetes, column by column as kube-apiserver shows them."""
