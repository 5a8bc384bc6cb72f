/** Defaulting of containers. */
import type {
  Container,
  ContainerPort,
  EnvVar,
  EphemeralContainer,
  HTTPGetAction,
  LifecycleHandler,
  Probe,
} from '../../generated/core/v1.ts'
import { pullPolicyFor } from './image-reference.ts'
import { withRoundedResources } from '../validation/resource-defaults.ts'
import { mapCopyOnWrite, withDefaults, withField, withMissing } from '../../copy-on-write.ts'
import { withFieldSelectorDefaults, withResourceSelectorDefaults } from './volume-defaults.ts'

export function withContainerDefaults<C extends Container | EphemeralContainer>(container: C): C {
  let result: Container = withDefaults<Container>(container, {
    imagePullPolicy: pullPolicyFor(container.image ?? ''),
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    resources: {},
  })
  result = withField(result, 'resources', withRoundedResources)
  result = withField(result, 'ports', list => mapCopyOnWrite(list, withPortDefaults))
  result = withField(result, 'env', list => mapCopyOnWrite(list, withEnvDefaults))
  result = withField(result, 'livenessProbe', withProbeDefaults)
  result = withField(result, 'readinessProbe', withProbeDefaults)
  result = withField(result, 'startupProbe', withProbeDefaults)
  result = withField(result, 'lifecycle', lifecycle => {
    return withField(withField(lifecycle, 'postStart', withHandlerDefaults), 'preStop', withHandlerDefaults)
  })
  return result === container ? container : { ...container, ...result }
}

function withPortDefaults(port: ContainerPort): ContainerPort {
  return withDefaults(port, { protocol: 'TCP' })
}

function withEnvDefaults(variable: EnvVar): EnvVar {
  return withField(variable, 'valueFrom', source => {
    const complete = withField(source, 'fieldRef', withFieldSelectorDefaults)
    return withField(complete, 'resourceFieldRef', withResourceSelectorDefaults)
  })
}

function withProbeDefaults(probe: Probe): Probe {
  const times = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 }
  const complete = withField(withDefaults(probe, times), 'httpGet', withRequestDefaults)
  return withField(complete, 'grpc', action => withMissing(action, { service: '' }))
}

function withHandlerDefaults(handler: LifecycleHandler): LifecycleHandler {
  return withField(handler, 'httpGet', withRequestDefaults)
}

function withRequestDefaults(request: HTTPGetAction): HTTPGetAction {
  return withDefaults(request, { path: '/', scheme: 'HTTP' })
}
