/** Defaulting of pods and pod templates. Templates have fewer defaults. */
import type { Container, Pod, PodSpec, PodTemplateSpec } from '../../generated/core/v1.ts'
import { withContainerDefaults } from './container-defaults.ts'
import { withContainers } from '../../core/pod-containers.ts'
import { roundUp, withRequests, withRoundedResources } from '../validation/resource-defaults.ts'
import { mapCopyOnWrite, withDefaults, withField, withMissing } from '../../copy-on-write.ts'
import { withVolumeDefaults } from './volume-defaults.ts'

export function withPodDefaults(pod: Pod): Pod {
  return withField(withMissing(pod, { spec: { containers: [] } }), 'spec', spec => {
    let result = withGracePeriod(withRequests(withPodSpecDefaults(spec)))
    result = withMissing(result, { enableServiceLinks: true })
    if (result.hostNetwork !== true) return result
    result = withField(result, 'containers', list => mapCopyOnWrite(list, withHostPorts))
    return withField(result, 'initContainers', list => mapCopyOnWrite(list, withHostPorts))
  })
}

export function withPodTemplateDefaults(template: PodTemplateSpec): PodTemplateSpec {
  return withField(withMissing(template, { spec: { containers: [] } }), 'spec', withPodSpecDefaults)
}

function withPodSpecDefaults(spec: PodSpec): PodSpec {
  let result = withDefaults(spec, {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
  })
  result = withServiceAccount(withMissing(result, { securityContext: {}, terminationGracePeriodSeconds: 30 }))
  result = withField(result, 'volumes', list => mapCopyOnWrite(list, withVolumeDefaults))
  result = withField(withField(result, 'resources', withRoundedResources), 'overhead', roundUp)
  return withContainers(result, withContainerDefaults)
}

/** The deprecated `serviceAccount` mirrors `serviceAccountName`. */
function withServiceAccount(spec: PodSpec): PodSpec {
  const name = spec.serviceAccountName || spec.serviceAccount
  if (!name || (spec.serviceAccountName === name && spec.serviceAccount === name)) return spec
  return { ...spec, serviceAccountName: name, serviceAccount: name }
}

/** A negative grace period, which old versions accepted, becomes one second. */
function withGracePeriod(spec: PodSpec): PodSpec {
  const { terminationGracePeriodSeconds: seconds } = spec
  return seconds !== undefined && seconds < 0 ? { ...spec, terminationGracePeriodSeconds: 1 } : spec
}

/** With `hostNetwork`, the host port defaults to the container port. */
function withHostPorts(container: Container): Container {
  return withField(container, 'ports', ports =>
    mapCopyOnWrite(ports, port => {
      return port.containerPort ? withDefaults(port, { hostPort: port.containerPort }) : port
    }),
  )
}
