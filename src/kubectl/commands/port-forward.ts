import type { Service } from '#/api/generated/core/v1.ts'
import { defineCommand } from '../command.ts'
import { CommandUsageError } from '../errors.ts'
import { stringSliceFlag } from '../flag-types.ts'
import { forwardPorts } from '../port-forward/forward-ports.ts'
import { parseAddresses } from '../port-forward/listen-addresses.ts'
import { parsePorts, resolvePorts } from '../port-forward/plan-ports.ts'
import { podRunningTimeoutFlag, podTimeoutMs } from '../pods/pod-flags.ts'
import { compareForAttach } from '../pods/pod-order.ts'
import { podIn, pods, podsOf } from '../pods/pods-of.ts'
import { requireResources } from '../resource/find-resources.ts'

export const command = defineCommand({
  usage: 'port-forward TYPE/NAME [options] [LOCAL_PORT:]REMOTE_PORT [...[LOCAL_PORT_N:]REMOTE_PORT_N]',
  description: `Forwards local ports to a pod.

For a workload or a service one of its pods is chosen. Forwarding ends when this pod does: run the command again to
forward to another one. Ports of a service stand for the target ports of the pod. UDP is not supported.`,
  examples: `  # Local ports 5000 and 6000 to the same ports of a pod
  kubectl port-forward pod/web-0 5000 6000

  # Local port 8888 to port 5000 of a pod of a deployment
  kubectl port-forward deployment/web 8888:5000

  # Local port 8443 to the port of the service with the name https
  kubectl port-forward service/web 8443:https

  # A free local port, which is printed
  kubectl port-forward pod/web-0 :5000

  # On all addresses of this machine, or on some
  kubectl port-forward --address 0.0.0.0 pod/web-0 8888:5000
  kubectl port-forward --address localhost,10.0.0.7 pod/web-0 8888:5000`,
  flags: {
    'address': stringSliceFlag(
      'Addresses to listen on: IP addresses, or localhost for 127.0.0.1 and ::1, of which one is enough.',
      { shownDefault: '[localhost]' },
    ),
    'pod-running-timeout': podRunningTimeoutFlag('1m0s'),
  },
  async run({ args, flags, factory, streams }) {
    const [name = '', ...given] = args
    if (given.length === 0)
      throw new CommandUsageError('TYPE/NAME and list of ports are required for port-forward')
    const timeoutMs = podTimeoutMs(flags['pod-running-timeout'])
    const [info] = await requireResources(factory, { args: [name], defaultType: 'pods', latest: true })
    const refusal = 'cannot attach to'
    const [pod] = await podsOf(factory, info!, { timeoutMs, compare: compareForAttach, refusal })
    const { mapping, object } = info!
    const isService = mapping.kind === 'Service' && mapping.group === ''
    const texts = resolvePorts(given, {
      pod,
      service: isService ? (object as unknown as Service) : undefined,
    })
    const { name: podName = '', namespace = '' } = pod.metadata
    const resources = await factory.resources()
    const { status } = podIn(await resources.get({ mapping: pods, namespace, name: podName }))
    if (status?.phase !== 'Running') {
      throw new Error(
        `unable to forward port because pod is not running. Current status=${status?.phase ?? ''}`,
      )
    }
    const addresses = parseAddresses(flags.address ?? ['localhost'])
    const ports = parsePorts(texts)
    const signal = streams.interrupted()
    await forwardPorts(factory, { namespace, pod: podName, ports, addresses, signal })
  },
})
