"""The files that are read."""

FILES = {
    "app.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: red, size: small}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  clusterIP: None
  selector: {app: web}
  ports: [{port: 80, targetPort: http}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: nginx:1
        ports: [{name: http, containerPort: 80}]
        resources: {requests: {cpu: 100m}}
""",
    "app2.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {color: blue}
---
apiVersion: v1
kind: Service
metadata: {name: web, labels: {app: web}}
spec:
  clusterIP: None
  selector: {app: web}
  ports: [{port: 80, targetPort: http}, {name: more, port: 81}]
""",
    "both.yaml": """
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}, data: {a: b}}
- {apiVersion: v1, kind: Secret, metadata: {name: two}, stringData: {a: b}}
""",
    "bad.yaml": """
apiVersion: v1
kind: Service
metadata: {name: Bad}
spec: {ports: [{port: 99999}], type: Odd}
""",
    "unknown.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
daten: {color: red}
""",
    "nokind.yaml": """
apiVersion: example.com/v1
kind: Nothing
metadata: {name: settings}
""",
    "settings.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {color: green}
""",
    "stateful.yaml": """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 0
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
""",
    "trinkets.yaml": """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: trinkets.kubectl.example.com}
spec:
  group: kubectl.example.com
  scope: Namespaced
  names: {plural: trinkets, singular: trinket, kind: Trinket, listKind: TrinketList, shortNames: [trk], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Color, type: string, jsonPath: .spec.color, priority: 1}
    schema:
      openAPIV3Schema:
        type: object
        description: A thing.
        properties:
          spec:
            type: object
            description: What is wanted.
            required: [replicas]
            properties:
              replicas: {type: integer, minimum: 0, maximum: 9, description: How many.}
              color: {type: string, enum: [red, blue]}
              parts: {type: array, items: {type: object, properties: {name: {type: string}}}}
          status:
            type: object
            properties:
              replicas: {type: integer}
    subresources: {status: {}, scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}}
""",
    "trinket.yaml": """
apiVersion: kubectl.example.com/v1
kind: Trinket
metadata: {name: first, labels: {app: web}}
spec: {replicas: 1, color: red}
""",
    "badtrinket.yaml": """
apiVersion: kubectl.example.com/v1
kind: Trinket
metadata: {name: bad}
spec: {replicas: 10, unheard: 1}
""",
    "kinds.yaml": """
apiVersion: v1
kind: LimitRange
metadata: {name: limits}
spec: {limits: [{type: Container, default: {cpu: 500m}, defaultRequest: {cpu: 100m}, max: {cpu: "1"}}]}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: closed}
spec: {podSelector: {matchLabels: {app: web}}, policyTypes: [Ingress], ingress: [{from: [{namespaceSelector: {matchLabels: {a: b}}}], ports: [{port: 80}]}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, storageClassName: none}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: quota}
spec: {hard: {pods: "2", requests.cpu: "1", count/configmaps: "3"}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {selector: {matchLabels: {app: agent}}, template: {metadata: {labels: {app: agent}}, spec: {containers: [{name: a, image: a}]}}}
---
apiVersion: v1
kind: Endpoints
metadata: {name: manual}
subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 80}]}]
---
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec: {replicas: 0, selector: {app: old}, template: {metadata: {labels: {app: old}}, spec: {containers: [{name: a, image: a}]}}}
""",
    "pod.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: p}}
spec: {containers: [{name: a, image: a, resources: {requests: {cpu: 100m}}, env: [{name: A, value: b}], readinessProbe: {httpGet: {path: /, port: 80}}}], volumes: [{name: v, configMap: {name: none}}], nodeSelector: {a: b}, tolerations: [{key: x, operator: Exists}]}
""",
    "badpod.yaml": """
apiVersion: v1
kind: Pod
metadata: {name: p}
spec: {containers: [{name: A_, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}], restartPolicy: Sometimes}
""",
    "wrongtype.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: p}
spec: {replicas: many, selector: {matchLabels: {a: b}}}
""",
}
