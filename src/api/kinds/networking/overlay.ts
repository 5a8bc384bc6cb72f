/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, type Overlay } from '../overlay.ts'

export const networkingOverlay: Overlay = {
  atomic: ['ServiceBackendPort'],
  merging: { 'ServiceCIDRStatus.conditions': merged('type') },
  enums: {
    PathType: ['Exact', 'ImplementationSpecific', 'Prefix'],
    PolicyType: ['Egress', 'Ingress'],
  },
  enumFields: {
    'HTTPIngressPath.pathType': 'PathType',
    'IngressPortStatus.protocol': 'core.Protocol',
    'NetworkPolicyPort.protocol': 'core.Protocol',
    'NetworkPolicySpec.policyTypes': 'PolicyType',
  },
  spacedSentences: ['NetworkPolicyPort.port'],
  resources: {
    ingresses: { shortNames: ['ing'] },
    ipaddresses: { shortNames: ['ip'] },
    networkpolicies: { shortNames: ['netpol'] },
  },
  fieldNumbers: `
HTTPIngressPath: path backend pathType?
HTTPIngressRuleValue: paths
IPAddress: metadata spec
IPAddressList: metadata items
IPAddressSpec: parentRef?-
IPBlock: cidr except
Ingress: metadata spec status
IngressBackend: 3:resource? service?
IngressClass: metadata spec
IngressClassList: metadata items
IngressClassParametersReference: apiGroup? kind name scope?! namespace?
IngressClassSpec: controller parameters?
IngressList: metadata items
IngressLoadBalancerIngress: ip hostname 4:ports
IngressLoadBalancerStatus: ingress
IngressPortStatus: port protocol error?
IngressRule: host ...IngressRuleValue
IngressRuleValue: http?
IngressServiceBackend: name port
IngressSpec: defaultBackend? tls rules ingressClassName?
IngressStatus: loadBalancer
IngressTLS: hosts secretName
NetworkPolicy: metadata spec
NetworkPolicyEgressRule: ports to
NetworkPolicyIngressRule: ports from
NetworkPolicyList: metadata items
NetworkPolicyPeer: podSelector? namespaceSelector? ipBlock?
NetworkPolicyPort: protocol? port? endPort?
NetworkPolicySpec: podSelector! ingress egress policyTypes
ParentReference: group resource- namespace name-
ServiceBackendPort: name number
ServiceCIDR: metadata spec status
ServiceCIDRList: metadata items
ServiceCIDRSpec: cidrs
ServiceCIDRStatus: conditions
`,
}
