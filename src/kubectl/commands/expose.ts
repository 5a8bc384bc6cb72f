import { messageOf } from '#/base/message-of.ts'
import { defineCommand, type Invocation } from '../command.ts'
import { GeneratedObjectSender, sendFlags } from '../create/generated-object-sender.ts'
import { sortedMap } from '../create/generated-object.ts'
import { applyOverrides, overrideFlags } from '../create/overrides.ts'
import { parseLabels } from '../create/parse-labels.ts'
import { labelsOf, portProtocols, requireExposed, selectorLabels } from '../expose/exposed-object.ts'
import { planService, services, type ServiceRequest } from '../expose/plan-service.ts'
import { stringFlag } from '../flag-types.ts'
import { visitResources } from '../resource/find-resources.ts'
import type { Info } from '../resource/info.ts'
import { filenameFlags, filesOf } from '../write-flags.ts'

const fieldManager = 'kubectl-expose'

const exposeFlags = {
  ...sendFlags(fieldManager),
  ...overrideFlags,
  ...filenameFlags('Files, folders or URLs with the objects to expose.'),
  'cluster-ip': stringFlag('Address of the service inside the cluster, or None for a headless service.'),
  'external-ip': stringFlag('Another address of the service, which is routed to a node.'),
  'labels': stringFlag('Labels of the service. The default are those of the exposed object.', {
    shorthand: 'l',
  }),
  'load-balancer-ip': stringFlag('Address of the load balancer.'),
  'name': stringFlag('Name of the service. The default is that of the exposed object.'),
  'port': stringFlag('Port of the service. The default are the ports of the exposed object.'),
  'protocol': stringFlag(
    'Protocol of the ports: TCP, UDP or SCTP. The default are those of the exposed object.',
  ),
  'selector': stringFlag('Labels of the pods, key=value. The default is the selector of the exposed object.'),
  'session-affinity': stringFlag('None or ClientIP.'),
  'target-port': stringFlag('Number or name of the port of the containers. The default is --port.'),
  'type': stringFlag('Type of the service: ClusterIP, NodePort, LoadBalancer or ExternalName.'),
}

type ExposeInvocation = Invocation<typeof exposeFlags>

export const command = defineCommand({
  usage:
    'expose (-f FILENAME | TYPE NAME) [--port=port] [--protocol=TCP|UDP|SCTP] ' +
    '[--target-port=number-or-name] [--name=name] [--external-ip=external-ip-of-service] ' +
    '[--type=type]',
  description: `Exposes an object as a new service.

The service selects the pods of a deployment, replica set, replication controller, service or pod, with the same
selector, which must consist of labels only. Without --port the service has all ports of the object, and without
--labels its labels.

Objects that can be exposed: pod (po), service (svc), replicationcontroller (rc), deployment (deploy) and
replicaset (rs).`,
  examples: `  # A service for a deployment; its port 80 is port 8000 of the containers
  kubectl expose deployment web --port=80 --target-port=8000

  # A service for the object of a file
  kubectl expose -f web.yaml --port=80 --target-port=8000

  # A service for a pod, with another name
  kubectl expose pod web-0 --port=444 --name=frontend

  # Another service for the pods of a service
  kubectl expose service web --port=443 --target-port=8443 --name=web-https

  # UDP
  kubectl expose deployment streamer --port=4100 --protocol=UDP --name=video-stream`,
  flags: exposeFlags,
  async run(invocation) {
    const { args, flags, factory } = invocation
    const sender = await GeneratedObjectSender.open(invocation, fieldManager)
    await visitResources(factory, { ...filesOf(flags), args, requireObject: true }, async info => {
      const service = await applyOverrides(planService(requestFor(info, invocation)), flags)
      sender.print(await sender.send(services, service), 'exposed')
    })
  },
})

/** Maximum length of the name of a service. */
const nameMax = 63

function requestFor({ mapping, name, object = {} }: Info, { flags }: ExposeInvocation): ServiceRequest {
  requireExposed(mapping)
  const selector = selectorOf(flags.selector, () => selectorLabels(mapping.kind, object))
  if (Object.keys(selector).length === 0) throw new Error('selector must be specified')
  const protocols = portProtocols(mapping.kind, object)
  const ports = flags.port ? flags.port.split(',') : [...protocols.keys()]
  if (ports.length === 0 && flags['cluster-ip'] !== 'None') {
    throw new Error("couldn't find port via --port flag or introspection")
  }
  return {
    name: flags.name || name.slice(0, nameMax),
    selector,
    labels: flags.labels ? parseLabels(flags.labels) : sortedMap(labelsOf(object)),
    ports,
    protocols,
    protocol: flags.protocol,
    targetPort: flags['target-port'],
    type: flags.type,
    clusterIP: flags['cluster-ip'],
    externalIP: flags['external-ip'],
    loadBalancerIP: flags['load-balancer-ip'],
    sessionAffinity: flags['session-affinity'],
  }
}

function selectorOf(given: string | undefined, derive: () => Readonly<Record<string, string>>) {
  if (given) return parseLabels(given)
  try {
    return sortedMap(derive())
  } catch (error) {
    const reason = messageOf(error)
    throw new Error(`couldn't retrieve selectors via --selector flag or introspection: ${reason}`, {
      cause: error,
    })
  }
}
