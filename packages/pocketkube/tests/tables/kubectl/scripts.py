"""What is typed."""

SCRIPTS = {
    "create config": """
        create configmap settings --from-literal=color=red --from-literal=size=small
        create configmap settings --from-literal=color=red
        create secret generic login --from-literal=user=me
        create secret docker-registry pull --docker-server=example.com --docker-username=a --docker-password=b
        get secret,cm/settings
        get cm settings -o yaml
        get secret login -o jsonpath={.data.user}
        describe cm settings
        describe secret login
        describe secret pull
        delete cm settings
        delete cm settings
        delete cm settings --ignore-not-found
        delete secrets --all
        get cm nothing
        get cm,secret --field-selector=metadata.name=login
        """,
    "create access": """
        create sa robot
        create role reader --verb=get,list --resource=pods,pods/log
        create role reader --verb=get --resource=unheard
        create rolebinding reads --role=reader --serviceaccount=NAMESPACE:robot
        create clusterrole NAMESPACE --verb=get --resource=nodes
        create clusterrolebinding NAMESPACE --clusterrole=NAMESPACE --user=jane
        get sa,role,rolebinding
        get rolebinding -o wide
        describe role reader
        describe rolebinding reads
        describe sa robot
        describe clusterrole NAMESPACE
        auth can-i get pods --as=system:serviceaccount:NAMESPACE:robot
        auth can-i delete pods --as=system:serviceaccount:NAMESPACE:robot
        auth can-i get pods/log --as=system:serviceaccount:NAMESPACE:robot
        auth can-i get unheard
        auth can-i list nodes --as=jane
        auth can-i get nodes --as=jane
        auth can-i --list --as=system:serviceaccount:NAMESPACE:robot
        auth can-i get /healthz
        get secrets --as=system:serviceaccount:NAMESPACE:robot
        get pods --as=system:serviceaccount:NAMESPACE:robot
        auth whoami --as=jane --as-group=team
        auth reconcile -f app.yaml
        delete clusterrole,clusterrolebinding NAMESPACE
        """,
    "create limits": """
        create quota small --hard=pods=2,cpu=1
        create quota odd --hard=pods=minus
        create priorityclass NAMESPACE --value=5 --description=few
        create pdb web --selector=app=web --min-available=1
        create pdb bad --selector=app=web
        get priorityclass NAMESPACE
        get pdb
        describe priorityclass NAMESPACE
        delete priorityclass NAMESPACE
        """,
    "create jobs": """
        create cronjob tick --image=busybox '--schedule=0 0 1 1 *' -- date
        create cronjob bad --image=busybox --schedule=never
        get cronjob
        describe cronjob tick
        get cronjob tick -o jsonpath={.spec.jobTemplate.spec.template.spec.containers[0].command}
        delete cronjob tick
        """,
    "create services": """
        create service clusterip one --tcp=80:8080 --clusterip=None
        create service externalname two --external-name=example.com
        create ingress web --rule=example.com/*=one:80
        get service,ingress
        get svc -o wide
        describe service two
        delete svc --all
        """,
    "apply": """
        apply -f app.yaml
        get deploy,cm/settings,svc -l app=web
        apply -f app.yaml
        diff -f app.yaml
        diff -f app2.yaml
        apply -f app2.yaml --dry-run=server
        apply -f app2.yaml --dry-run=client
        apply -f app2.yaml
        get cm settings -o jsonpath={.data}
        get svc web -o jsonpath={.spec.ports[*].port}
        apply view-last-applied cm settings
        apply -f app2.yaml --prune -l app=web --prune-allowlist=core/v1/ConfigMap --prune-allowlist=apps/v1/Deployment
        get deploy
        delete -f app2.yaml
        apply -f bad.yaml
        apply -f unknown.yaml
        apply -f unknown.yaml --validate=warn
        apply -f unknown.yaml --validate=ignore
        apply -f nokind.yaml
        create -f both.yaml
        get -f both.yaml
        delete -f both.yaml
        """,
    "apply on the server": """
        apply --server-side -f settings.yaml
        apply --server-side -f settings.yaml --field-manager=other
        get cm settings -o yaml --show-managed-fields
        patch cm settings -p '{"data":{"color":"blue"}}'
        apply --server-side -f settings.yaml
        apply --server-side -f settings.yaml --force-conflicts
        apply --server-side -f app.yaml --dry-run=server
        diff --server-side -f settings.yaml
        apply -f settings.yaml
        """,
    "patch and replace": """
        create -f settings.yaml
        patch cm settings -p '{"data":{"size":"large"}}'
        patch cm settings --type=merge -p '{"data":{"size":null}}'
        patch cm settings --type=json -p '[{"op":"add","path":"/data/size","value":"small"}]'
        patch cm settings --type=json -p '[{"op":"test","path":"/data/size","value":"large"}]'
        patch cm settings --type=json -p '[{"op":"remove","path":"/data/none"}]'
        patch cm settings --type=merge -p 'nonsense'
        patch cm settings --type=merge -p '{"data":{"size":null}}'
        patch cm settings --type=merge -p '{"data":{"size":null}}'
        get cm settings -o yaml
        replace -f settings.yaml
        replace -f both.yaml
        replace --force -f settings.yaml
        label cm settings a=b
        label cm settings a=c
        label cm settings a=c --overwrite
        label cm settings a-
        label cm settings a-
        label cm settings a=not/good
        label cm --all all=yes -l x=y
        annotate cm settings note=here
        annotate cm settings note-
        get cm settings --show-labels
        set image deploy/none web=nginx
        create -f settings.yaml --dry-run=server -o yaml
        """,
    "deployments": """
        create -f app.yaml
        get deploy web -o wide
        scale deploy web --replicas=0
        scale deploy web --current-replicas=5 --replicas=1
        set image deploy/web web=nginx:2
        set image deploy/web other=nginx:2
        set env deploy/web COLOR=red
        set resources deploy/web --limits=cpu=200m
        set selector svc web app=other
        ~ wait deploy/web --for=jsonpath={.status.observedGeneration}=4 --timeout=10s
        rollout status deploy/web --timeout=10s
        rollout history deploy/web
        rollout undo deploy/web --to-revision=9
        rollout pause deploy/web
        rollout resume deploy/web
        rollout resume deploy/web
        autoscale deploy web --min=1 --max=3 --cpu=50%
        get hpa
        describe hpa web
        expose deploy web --name=exposed --port=8080 --cluster-ip=None
        get svc exposed -o jsonpath={.spec.ports}
        delete deploy web --cascade=orphan
        delete hpa web
        """,
    "statefulsets": """
        create -f stateful.yaml
        get sts
        ~ wait sts/db --for=jsonpath={.status.observedGeneration}=1 --timeout=10s
        rollout status sts/db --timeout=10s
        scale sts db --replicas=0
        describe sts db
        delete sts db --cascade=foreground
        """,
    "pods without nodes": """
        ~ get sa default
        run web --image=nginx --labels=app=web
        run web --image=nginx
        run bad --image=
        run dry --image=nginx --dry-run=server -o jsonpath={.spec.tolerations[*].key}
        get pod web -o name
        get pods -l app=web -o name
        get pods -l app!=web
        get pods -l 'app in (web,db)' -o jsonpath={.items[*].metadata.name}
        get pods --field-selector=status.phase=Pending -o name
        get pods --field-selector=unheard=1
        get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase
        get pods --sort-by=.metadata.name -o name
        get pods web none -o name
        get pods --chunk-size=1 -o name
        get pod web -o jsonpath={.spec.containers[0].imagePullPolicy}
        get pod web -o go-template={{.spec.restartPolicy}}
        set image pod/web web=nginx:2
        patch pod web -p '{"spec":{"nodeName":"nowhere"}}'
        logs web
        logs none
        wait pod/web --for=condition=Ready --timeout=1s
        wait pod/web --for=jsonpath={.spec.restartPolicy}=Always --timeout=5s
        wait pod/none --for=delete --timeout=5s
        delete pod web --force
        delete pod web
        """,
    "custom objects": """
        apply -f trinkets.yaml
        ~ get trinkets
        apply -f trinket.yaml
        get trinkets
        get trk -o wide
        get trinkets.kubectl.example.com first -o yaml
        get trinkets.v1.kubectl.example.com -o name
        get all
        describe trinket first
        scale trinket first --replicas=3
        get trk first
        scale trinket first --replicas=30
        patch trinket first --type=merge -p '{"spec":{"color":"blue"}}'
        patch trinket first -p '{"spec":{"color":"blue"}}'
        patch trinket first --subresource=status --type=merge -p '{"status":{"replicas":2}}'
        get trinket first --subresource=scale -o jsonpath={.status.replicas}
        label trinket first a=b
        apply -f badtrinket.yaml
        apply -f badtrinket.yaml --validate=false
        diff -f trinket.yaml
        apply -f trinket.yaml --server-side
        apply -f trinket.yaml --server-side --force-conflicts
        wait trinket/first --for=jsonpath={.spec.color}=red --timeout=5s
        explain trinket.spec
        explain trinket.spec.replicas
        explain trinket --recursive
        api-resources --api-group=kubectl.example.com
        delete trinkets --all
        delete crd trinkets.kubectl.example.com
        get trinkets
        """,
    "namespaces": """
        create ns NAMESPACE-x
        create ns NAMESPACE-x
        create ns Bad
        get ns NAMESPACE-x -o jsonpath={.status.phase}
        describe ns NAMESPACE-x
        -n NAMESPACE-x create cm a
        delete ns NAMESPACE-x
        get ns NAMESPACE-x
        -n NAMESPACE-x create cm a
        """,
    "resources": """
        api-resources --namespaced=true -o name --sort-by=name --api-group=apps
        api-resources --api-group=batch -o wide
        api-resources --api-group=policy
        get unheard
        get --raw /api/v1/namespaces/NAMESPACE/configmaps/none
        get --raw /unheard
        get --raw /healthz
        get --raw /livez
        """,
    "other kinds": """
        ~ get sa default
        create -f kinds.yaml
        ~ wait resourcequota quota --for=jsonpath={.status.used.pods}=0 --timeout=10s
        get limitrange,networkpolicy,pvc,resourcequota,ds,ep,rc
        get limitrange,networkpolicy,pvc,resourcequota,ds,ep,rc -o wide
        describe limitrange limits
        describe networkpolicy closed
        describe resourcequota quota
        describe ds agent
        describe rc old
        describe ns NAMESPACE
        get ds agent -o yaml
        scale rc old --replicas=0
        rollout restart ds/agent
        ~ wait ds/agent --for=jsonpath={.status.observedGeneration}=2 --timeout=10s
        rollout status ds/agent --timeout=5s
        create cm one
        create cm two
        create cm three
        create cm four
        run big --image=x '--overrides={"spec":{"containers":[{"name":"big","image":"x","resources":{"requests":{"cpu":"2"}}}]}}'
        run fit --image=x
        get pod fit -o jsonpath={.spec.containers[0].resources}
        get resourcequota quota -o jsonpath={.status.used.pods}
        delete -f kinds.yaml
        """,
    "pods and their mistakes": """
        ~ get sa default
        apply -f pod.yaml
        get pod p -o jsonpath={.status.qosClass}
        apply -f badpod.yaml
        create -f badpod.yaml
        create -f wrongtype.yaml
        apply -f wrongtype.yaml
        label pod p app-
        get pod p --show-labels --no-headers -o custom-columns=L:.metadata.labels
        annotate pod p a=b --resource-version=1
        annotate pod p --list
        annotate pod p a=b --dry-run=server
        delete pod p --dry-run=server
        delete pod -l app=none
        delete pod p --now --wait=false
        create token default --duration=1s
        create token none
        create token default --bound-object-kind=Pod --bound-object-name=none
        debug p --image=x --dry-run=client
        cp p:/a b
        cp none:/a b
        """,
    "files and questions": """
        create cm a --from-literal=a=b
        apply set-last-applied cm a -f settings.yaml
        apply -f settings.yaml
        apply set-last-applied -f settings.yaml
        replace -f settings.yaml --dry-run=server
        replace --raw /api/v1/namespaces/NAMESPACE/configmaps/a -f settings.yaml
        delete --raw /api/v1/namespaces/NAMESPACE/configmaps/a
        delete --raw /api/v1/namespaces/NAMESPACE/configmaps/a
        wait --for=create cm/settings --timeout=5s
        wait --for=create cm/none --timeout=1s
        wait --for=condition=Odd cm/settings --timeout=1s
        get cm settings -o jsonpath='{.metadata.annotations}'
        get cm -A --field-selector=metadata.namespace=NAMESPACE,metadata.name=settings
        get cm -A --field-selector=metadata.namespace==NAMESPACE,metadata.name!=settings -o name
        get cm settings a
        get cm/settings secret/none
        get cm settings --ignore-not-found -o name
        get cm --chunk-size=0 -o name -l 'a notin (b)' --field-selector=metadata.name=settings
        get cm -l 'a in b'
        get cm settings -o jsonpath={.none}
        create ns NAMESPACE --dry-run=server
        auth can-i create cm --as=nobody
        auth can-i create cm -q
        auth whoami -o jsonpath={.status.userInfo.groups}
        certificate approve none
        cluster-info dump --namespaces=none -o name
        get clusterrole edit -o jsonpath={.aggregationRule}
        create clusterrolebinding NAMESPACE --clusterrole=none --user=x --as=jane
        create rolebinding r --clusterrole=view --group=g
        describe rolebinding r
        """,
    "what a cluster has": """
        get deployments.v1.apps
        get deployments.v1beta1.apps
        get hpa.v2.autoscaling
        describe clusterrole view
        get crd nothing.example.com
        version
        get clusterroles -l kubernetes.io/bootstrapping=rbac-defaults -o custom-columns=N:.metadata.name
        get clusterrolebindings -l kubernetes.io/bootstrapping=rbac-defaults -o wide
        -n kube-system get roles,rolebindings -l kubernetes.io/bootstrapping=rbac-defaults
        get priorityclass system-node-critical
        describe priorityclass system-cluster-critical
        get clusterrole edit -o yaml
        """,
}

ON_A_NODE = {
    "a pod": """
        ~ get sa default
        run web --image=nginx --labels=app=web
        ~ wait pod/web --for=condition=Ready --timeout=10s
        get pods
        get pods -o wide
        describe pod web --show-events=false
        events --for=pod/web
        get pod web -o yaml
        wait pod/web --for=condition=Ready --timeout=5s
        wait pod/web --for=jsonpath={.status.phase}=Running --timeout=5s
        patch pod web -p '{"spec":{"activeDeadlineSeconds":5000}}'
        set image pod/web web=nginx:2
        delete pod web --grace-period=1
        get pods
        """,
    "a deployment": """
        create deployment web --image=nginx --replicas=2
        ~ wait deploy/web --for=jsonpath={.status.readyReplicas}=2 --timeout=20s
        rollout status deploy/web
        get deploy,rs -o wide
        get pods --show-labels
        describe deploy web --show-events=false
        get deploy web -o jsonpath={.metadata.generation}
        set image deploy/web nginx=nginx:2
        ~ rollout status deploy/web --timeout=20s
        rollout history deploy/web
        rollout undo deploy/web
        ~ rollout status deploy/web --timeout=20s
        rollout history deploy/web
        get rs --sort-by=.spec.replicas
        delete deploy web --cascade=foreground
        """,
    "a node": """
        get node node-1
        get nodes -o wide
        get node node-1 -o jsonpath={.status.capacity}
        cordon node-1
        cordon node-1
        get node node-1
        uncordon node-1
        uncordon node-1
        taint node node-1 a=b:NoSchedule
        taint node node-1 a=b:NoSchedule
        taint node node-1 a=c:NoSchedule --overwrite
        taint node node-1 a-
        taint node node-1 a-
        label node node-1 a=b
        label node node-1 a-
        cordon nowhere
        """,
    "a drain": """
        ~ get sa default
        run alone --image=nginx
        create deployment web --image=nginx
        create pdb web --selector=app=web --min-available=1
        ~ wait pod/alone --for=condition=Ready --timeout=10s
        ~ wait pdb/web --for=jsonpath={.status.currentHealthy}=1 --timeout=10s
        get pdb
        drain node-1 --timeout=2s
        drain node-1 --pod-selector=app=web --timeout=2s
        get pods -o custom-columns=O:.metadata.ownerReferences[*].kind,P:.status.phase
        delete pdb web
        delete pod alone --grace-period=1
        drain node-1 --force --ignore-daemonsets --dry-run=server
        drain node-1 --force --ignore-daemonsets
        drain node-1
        uncordon node-1
        """,
}
"""What needs a node: there is one, `node-1`."""
