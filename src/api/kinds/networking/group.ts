/** Rules and table columns of `networking.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type {
  Ingress,
  IngressClass,
  IPAddress,
  NetworkPolicy,
  ServiceCIDR,
} from '../../generated/networking/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import {
  formatListWithMore,
  loadBalancerStatusText,
  selectorText,
  shownMax,
  withGroup,
} from '../cell-text.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { ingressRules } from './ingress.ts'
import { ingressClassRules } from './ingress-class.ts'
import { ipAddressRules, serviceCidrRules } from './service-cidr.ts'
import { networkPolicyRules } from './network-policy.ts'

export const networkingRules: GroupRules = {
  Ingress: ingressRules,
  IngressClass: ingressClassRules,
  IPAddress: ipAddressRules,
  NetworkPolicy: networkPolicyRules,
  ServiceCIDR: serviceCidrRules,
}

const ingressColumns: KindColumns<Ingress> = {
  columns: [
    nameColumn,
    textColumn('Class', 'Name of the IngressClass.'),
    textColumn('Hosts', 'Hosts of the rules.'),
    textColumn('Address', 'Load balancer addresses.'),
    textColumn('Ports', 'Ports: 80, and 443 with TLS.'),
    ageColumn,
  ],
  cells: (ingress: Unchecked<Ingress>) => {
    const { spec = {}, status } = ingress
    return [
      nameOf(ingress),
      spec.ingressClassName ?? '<none>',
      hostsText(ingress),
      loadBalancerStatusText(status?.loadBalancer?.ingress),
      (spec.tls?.length ?? 0) > 0 ? '80, 443' : '80',
      ageOf(ingress),
    ]
  },
}

const ingressClassColumns: KindColumns<IngressClass> = {
  columns: [
    nameColumn,
    textColumn('Controller', 'Controller of the class.'),
    textColumn('Parameters', 'Reference to the parameters object.'),
    ageColumn,
  ],
  cells: (object: Unchecked<IngressClass>) => {
    const { metadata, spec = {} } = object
    const isDefault = metadata?.annotations?.['ingressclass.kubernetes.io/is-default-class'] === 'true'
    return [
      isDefault ? `${nameOf(object)} (default)` : nameOf(object),
      spec.controller ?? '',
      parametersText(object),
      ageOf(object),
    ]
  },
}

const networkPolicyColumns: KindColumns<NetworkPolicy> = {
  columns: [nameColumn, textColumn('Pod-Selector', 'Pods that the policy applies to.'), ageColumn],
  cells: (policy: Unchecked<NetworkPolicy>) => [
    nameOf(policy),
    selectorText(policy.spec?.podSelector),
    ageOf(policy),
  ],
}

const serviceCidrColumns: KindColumns<ServiceCIDR> = {
  columns: [nameColumn, textColumn('CIDRs', 'CIDRs for service cluster IPs.'), ageColumn],
  cells: (object: Unchecked<ServiceCIDR>) => [
    nameOf(object),
    (object.spec?.cidrs ?? []).join(','),
    ageOf(object),
  ],
}

const ipAddressColumns: KindColumns<IPAddress> = {
  columns: [nameColumn, textColumn('ParentRef', 'Reference to the object that uses the address.')],
  cells: (address: Unchecked<IPAddress>) => [nameOf(address), parentText(address)],
}

function parametersText({ spec }: Unchecked<IngressClass>): string {
  if (spec?.parameters === undefined) return '<none>'
  const { kind = '', apiGroup, name = '' } = spec.parameters
  return apiGroup === undefined ? `${kind}/${name}` : `${kind}.${apiGroup}/${name}`
}

/** A rule without a host matches all hosts and is not shown, but counts in the number of remaining ones. */
function hostsText({ spec: { rules = [] } = {} }: Unchecked<Ingress>): string {
  const hosts: string[] = []
  for (const { host } of rules) {
    if (hosts.length === shownMax) return formatListWithMore(hosts, rules.length)
    if (host) hosts.push(host)
  }
  return hosts.join(',') || '*'
}

function parentText({ spec }: Unchecked<IPAddress>): string {
  if (spec?.parentRef === undefined) return '<none>'
  const { group, resource = '', namespace, name = '' } = spec.parentRef
  const kind = withGroup(resource, group).toLowerCase()
  return namespace ? `${kind}/${namespace}/${name}` : `${kind}/${name}`
}

export const networkingColumns: GroupColumns = {
  Ingress: ingressColumns,
  IngressClass: ingressClassColumns,
  IPAddress: ipAddressColumns,
  NetworkPolicy: networkPolicyColumns,
  ServiceCIDR: serviceCidrColumns,
}
