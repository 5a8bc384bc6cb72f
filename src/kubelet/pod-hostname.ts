/** Hostname of a pod, as seen by its processes and written to its /etc/hosts. */
import { checkDns1123Label, checkDns1123Subdomain } from '#/api/names.ts'
import { quote } from '#/api/text/quote.ts'
import type { KubeletPod } from './kubelet-pod.ts'

export interface PodHostname {
  readonly hostname: string
  /** `subdomain.namespace.svc.cluster.local`; empty without a subdomain. */
  readonly domain: string
}

/** The kernel's limit is 64 bytes including the terminating NUL. */
const hostnameMax = 63
const qualifiedMax = 64

/** Throws an Error with Kubernetes' message if the spec contains an invalid name. */
export function podHostname(pod: KubeletPod, clusterDomain: string): PodHostname {
  const { name, namespace } = pod.metadata
  const { hostname = '', subdomain = '', hostnameOverride } = pod.spec ?? {}
  if (hostnameOverride !== undefined) {
    checkName('pod HostnameOverride', hostnameOverride, 'DNS subdomain')
    return { hostname: shortened(name, hostnameOverride), domain: '' }
  }
  if (hostname !== '') checkName('pod Hostname', hostname, 'DNS label')
  if (subdomain !== '') checkName('pod Subdomain', subdomain, 'DNS label')
  return {
    hostname: shortened(name, hostname === '' ? name : hostname),
    domain: subdomain === '' ? '' : `${subdomain}.${namespace}.svc.${clusterDomain}`,
  }
}

/** The kernel's hostname: the FQDN if the pod sets `setHostnameAsFQDN`. */
export function kernelHostname(pod: KubeletPod, { hostname, domain }: PodHostname): string {
  if (domain === '' || !pod.spec?.setHostnameAsFQDN) return hostname
  const qualified = `${hostname}.${domain}`
  if (qualified.length <= qualifiedMax) return qualified
  throw new Error(
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${qualified} is too long ` +
      `(${qualifiedMax} characters is the max, ${qualified.length} characters requested)`,
  )
}

const nameChecks = { 'DNS label': checkDns1123Label, 'DNS subdomain': checkDns1123Subdomain }

function checkName(what: string, value: string, kind: keyof typeof nameChecks): void {
  const errors = nameChecks[kind](value)
  if (errors.length > 0)
    throw new Error(`${what} ${quote(value)} is not a valid ${kind}: ${errors.join(';')}`)
}

function shortened(podName: string, hostname: string): string {
  if (hostname.length <= hostnameMax) return hostname
  const cut = hostname.slice(0, hostnameMax).replace(/[-.]+$/, '')
  if (cut === '') throw new Error(`hostname for pod ${quote(podName)} was invalid: ${quote(hostname)}`)
  return cut
}
