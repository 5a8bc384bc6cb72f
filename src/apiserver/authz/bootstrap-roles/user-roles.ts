/**
 * User-facing default roles. `admin`, `edit` and `view` are aggregated from labeled roles, first of all the
 * ones here. https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
 */
import type { RoleTable } from './notation.ts'

export const userRoles: RoleTable = {
  'cluster-admin': `
    * * *
    * path *
  `,
  'k8ts:history': 'get path /k8ts/*',
  'system:aggregate-to-admin': `
    create authorization.k8s.io localsubjectaccessreviews
    read,write rbac.authorization.k8s.io rolebindings roles
  `,
  'system:aggregate-to-edit': `
    read core pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
    impersonate core serviceaccounts
    write core pods pods/attach pods/exec pods/portforward pods/proxy
    create core pods/eviction
    write core configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale \
      secrets serviceaccounts services services/proxy
    create core serviceaccounts/token
    write core,events.k8s.io events
    write apps daemonsets deployments deployments/rollback deployments/scale replicasets \
      replicasets/scale statefulsets statefulsets/scale
    write autoscaling horizontalpodautoscalers
    write batch cronjobs jobs
    write extensions daemonsets deployments deployments/rollback deployments/scale ingresses \
      networkpolicies replicasets replicasets/scale replicationcontrollers/scale
    write policy poddisruptionbudgets
    write networking.k8s.io ingresses networkpolicies
    read,write coordination.k8s.io leases
    write resource.k8s.io resourceclaims resourceclaimtemplates
  `,
  'system:aggregate-to-view': `
    read core configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods \
      replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status
    read core bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status \
      resourcequotas resourcequotas/status
    read core namespaces
    read core,events.k8s.io events
    read discovery.k8s.io endpointslices
    read apps controllerrevisions daemonsets daemonsets/status deployments deployments/scale \
      deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale \
      statefulsets/status
    read autoscaling horizontalpodautoscalers horizontalpodautoscalers/status
    read batch cronjobs cronjobs/status jobs jobs/status
    read extensions daemonsets daemonsets/status deployments deployments/scale deployments/status \
      ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status \
      replicationcontrollers/scale
    read policy poddisruptionbudgets poddisruptionbudgets/status
    read networking.k8s.io ingresses ingresses/status networkpolicies
    read resource.k8s.io resourceclaims resourceclaims/status resourceclaimtemplates
  `,
  'system:basic-user': `
    create authorization.k8s.io selfsubjectaccessreviews selfsubjectrulesreviews
    create authentication.k8s.io selfsubjectreviews
  `,
  'system:discovery': `
    get path /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
  `,
  'system:public-info-viewer': 'get path /healthz /livez /readyz /version /version/',
  'system:monitoring': `
    get path /flagz /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/* /statusz
    get core nodes/metrics
  `,
  'system:service-account-issuer-discovery': `
    get path /.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks \
      /openid/v1/jwks/
  `,
}
