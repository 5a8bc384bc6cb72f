import type { Ingress, IngressBackend } from '#/api/generated/networking/v1.ts'
import type { Pod, Service, ServicePort } from '#/api/generated/core/v1.ts'
import type { Stored } from '#/api/metadata.ts'
import { quote } from '#/api/text/quote.ts'
import type { Cause } from '../diagnosis.ts'
import { isReady, podsOfService } from '../collect/relevant-pods.ts'
import type { Snapshot } from '../collect/snapshot.ts'
import { diagnoseIngressPolicies, policiesFor, policyEvidence } from './network-policy.ts'
import { counted, healthy, kubectl, nameOf, ofObject, remedy } from './phrases.ts'
import { endpointsOf } from './service-endpoints.ts'
import { worstPod } from './workload.ts'

/** Why a Service cannot be reached. */
export function diagnoseService(snapshot: Snapshot, service: Stored<Service>): Cause {
  const { type = 'ClusterIP', selector = {}, externalName } = service.spec ?? {}
  const name = nameOf(service)
  if (type === 'ExternalName') return healthy(`${name} is an alias of the DNS name ${externalName ?? ''}.`)
  const { ready, notReady } = endpointsOf(snapshot, service)
  const labels = Object.entries(selector)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
  if (ready === 0 && labels === '') {
    return {
      code: 'NoEndpoints',
      summary: `${name} has no endpoints, since it has no selector and no EndpointSlice was made for it.`,
      evidence: [ofObject(service, 'spec.selector is empty')],
      remedies: [
        remedy(
          'Add a selector, or create an EndpointSlice:',
          kubectl(snapshot.namespace, 'edit', 'service', service.metadata.name),
        ),
      ],
    }
  }
  const pods = podsOfService(snapshot, service)
  if (labels !== '' && pods.length === 0 && snapshot.pods !== undefined) {
    return noPods(snapshot, service, labels)
  }
  if (ready === 0) return noneReady(snapshot, service, { pods, notReady })
  const ports = pods.flatMap(pod => (service.spec?.ports ?? []).flatMap(port => targetPort(pod, port) ?? []))
  const subject = name
  const blocked = diagnoseIngressPolicies(snapshot, {
    subject,
    pods: pods.filter(isReady),
    ports: [...new Set(ports)],
  })
  if (blocked)
    return {
      ...blocked,
      evidence: [ofObject(service, `${counted(ready, 'endpoint')} ready`), ...blocked.evidence],
    }
  if (type === 'LoadBalancer' && (service.status?.loadBalancer?.ingress ?? []).length === 0) {
    return {
      code: 'Unknown',
      summary: `${name} has no external address, since no load balancer was provided for it.`,
      evidence: [
        ofObject(service, 'status.loadBalancer.ingress is empty'),
        ofObject(service, `${counted(ready, 'endpoint')} ready`),
      ],
      remedies: [
        remedy(
          'The cluster needs a cloud controller or another provider of load balancers; until then:',
          kubectl(
            snapshot.namespace,
            'port-forward',
            `service/${service.metadata.name}`,
            `8080:${service.spec?.ports?.[0]?.port ?? 80}`,
          ),
        ),
      ],
    }
  }
  const [pod] = pods
  const policies = pod ? policiesFor(snapshot, pod, 'Ingress') : []
  const restricted = policies.length > 0 ? '; network policies restrict which clients may connect' : ''
  return healthy(`${name} has ${counted(ready, 'ready endpoint')}${restricted}.`, [
    ofObject(service, `${ready} endpoints are ready, ${notReady} are not`),
    ...policyEvidence(policies),
  ])
}

function noPods(snapshot: Snapshot, service: Stored<Service>, labels: string): Cause {
  const wanted = Object.entries(service.spec?.selector ?? {})
  const close = (snapshot.pods ?? []).find(({ metadata }) => {
    return wanted.some(([key, value]) => metadata.labels?.[key] === value || key in (metadata.labels ?? {}))
  })
  return {
    code: 'NoEndpoints',
    summary: `${nameOf(service)} has no endpoints, since no pod has the labels ${labels} of its selector.`,
    evidence: [
      ofObject(service, `spec.selector is ${labels}`),
      ...(close ? [ofObject(close, `labels are ${labelText(close)}`)] : []),
    ],
    remedies: [
      remedy('Compare the labels of the pods:', kubectl(snapshot.namespace, 'get', 'pods', '--show-labels')),
      remedy('Correct the selector:', kubectl(snapshot.namespace, 'edit', 'service', service.metadata.name)),
    ],
  }
}

function labelText({ metadata }: Pod): string {
  return Object.entries(metadata.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}

interface Unready {
  readonly pods: readonly Stored<Pod>[]
  readonly notReady: number
}

function noneReady(snapshot: Snapshot, service: Stored<Service>, { pods, notReady }: Unready): Cause {
  const name = nameOf(service)
  const named = (service.spec?.ports ?? []).find(({ targetPort: port }) => {
    return typeof port === 'string' && pods.every(pod => !hasPortName(pod, port))
  })
  if (named && pods.some(isReady)) {
    const portName = quote(String(named.targetPort))
    return {
      code: 'NoEndpoints',
      summary: `${name} has no endpoints, since no container of its pods has a port named ${portName}.`,
      evidence: [ofObject(service, `targetPort is ${String(named.targetPort)}`)],
      remedies: [
        remedy(
          'Correct targetPort, or name the port of the container:',
          kubectl(snapshot.namespace, 'edit', 'service', service.metadata.name),
        ),
      ],
    }
  }
  const cause = worstPod(snapshot, pods)
  const heading = `${name} has no ready endpoints`
  if (cause && cause.code !== 'Healthy') {
    return {
      ...cause,
      summary: `${heading}: ${cause.summary}`,
      evidence: [ofObject(service, `0 endpoints are ready, ${notReady} are not`), ...cause.evidence],
    }
  }
  return {
    code: 'NoEndpoints',
    summary: snapshot.pods
      ? `${heading}, although ${counted(pods.length, 'pod')} match its selector.`
      : `${heading}, and its pods could not be read.`,
    evidence: [ofObject(service, `0 endpoints are ready, ${notReady} are not`)],
    remedies: [
      remedy(
        'See its EndpointSlices:',
        kubectl(
          snapshot.namespace,
          'get',
          'endpointslices',
          '-l',
          `kubernetes.io/service-name=${service.metadata.name}`,
        ),
      ),
    ],
  }
}

function hasPortName(pod: Pod, port: string): boolean {
  return (pod.spec?.containers ?? []).some(({ ports = [] }) => ports.some(({ name }) => name === port))
}

function targetPort(pod: Pod, { port, targetPort: target = port }: ServicePort): number | undefined {
  if (typeof target === 'number') return target
  const ports = (pod.spec?.containers ?? []).flatMap(({ ports: list = [] }) => list)
  return ports.find(({ name }) => name === target)?.containerPort
}

/** Why an Ingress does not route. */
export function diagnoseIngress(snapshot: Snapshot, ingress: Stored<Ingress>): Cause {
  const name = nameOf(ingress)
  const { namespace, services, ingressClasses } = snapshot
  const { ingressClassName, rules = [], defaultBackend } = ingress.spec ?? {}
  const isKnown = ingressClasses?.some(({ metadata }) => metadata.name === ingressClassName)
  const edit = kubectl(namespace, 'edit', 'ingress', ingress.metadata.name)
  if (ingressClassName !== undefined && isKnown === false) {
    return {
      code: 'MissingObject',
      summary: `${name} is not served, since IngressClass ${quote(ingressClassName)} does not exist.`,
      evidence: [ofObject(ingress, `spec.ingressClassName is ${ingressClassName}`)],
      remedies: [
        remedy('See the classes:', 'kubectl get ingressclasses'),
        remedy('Correct the class:', edit),
      ],
    }
  }
  const backends = [
    ...(defaultBackend ? [defaultBackend] : []),
    ...rules.flatMap(({ http }) => (http?.paths ?? []).map(({ backend }) => backend)),
  ]
  for (const backend of backends) {
    const problem = backendProblem(snapshot, backend)
    if (problem === undefined) continue
    if (typeof problem !== 'string')
      return { ...problem, summary: `${name} cannot reach its backend: ${problem.summary}` }
    return {
      code: 'MissingObject',
      summary: `${name} cannot reach its backend, since ${problem}.`,
      evidence: [ofObject(ingress, `backend ${JSON.stringify(backend.service ?? {})}`)],
      remedies: [
        remedy('See the Services:', kubectl(namespace, 'get', 'services')),
        remedy('Correct the backend:', edit),
      ],
    }
  }
  if ((ingress.status?.loadBalancer?.ingress ?? []).length === 0) {
    const ofClass = ingressClassName
      ? ` of IngressClass ${ingressClassName}`
      : ' for Ingresses without a class'
    return {
      code: 'Unknown',
      summary: `${name} has no address, since no controller${ofClass} has taken it.`,
      evidence: [
        ofObject(
          ingress,
          `status.loadBalancer.ingress is empty, spec.ingressClassName is ${ingressClassName ?? 'absent'}`,
        ),
      ],
      remedies: [remedy('See the classes and their controllers:', 'kubectl get ingressclasses')],
    }
  }
  return healthy(`${name} has an address, and all its backends have endpoints.`, [
    ofObject(
      ingress,
      `${counted(backends.length, 'backend')}, ${services?.length ?? 0} Services in the namespace`,
    ),
  ])
}

/** A problem of the reference, or the cause by which its Service has no endpoints. */
function backendProblem(
  snapshot: Snapshot,
  { service: reference }: IngressBackend,
): string | Cause | undefined {
  const { services, namespace } = snapshot
  if (reference === undefined || services === undefined) return undefined
  const service = services.find(
    ({ metadata }) => metadata.name === reference.name && metadata.namespace === namespace,
  )
  if (service === undefined) return `Service ${reference.name} does not exist`
  const { number, name } = reference.port ?? {}
  const ports = service.spec?.ports ?? []
  if (!ports.some(port => (name ? port.name === name : port.port === number))) {
    return `Service ${reference.name} has no port ${name ?? number ?? ''}`
  }
  const cause = diagnoseService(snapshot, service)
  return cause.code === 'Healthy' ? undefined : cause
}
