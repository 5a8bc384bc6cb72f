import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { ingressRules } from './ingress.ts'
import { ingressClassRules } from './ingress-class.ts'
import { ipAddressRules } from './ip-address.ts'
import { networkPolicyRules } from './network-policy.ts'
import { serviceCidrRules } from './service-cidr.ts'

export const networking: GroupRules = groupRules({
  Ingress: ingressRules,
  IngressClass: ingressClassRules,
  IPAddress: ipAddressRules,
  NetworkPolicy: networkPolicyRules,
  ServiceCIDR: serviceCidrRules,
})
