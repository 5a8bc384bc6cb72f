import type { Service } from '#/api/generated/core/v1.ts'
import { keyOf, isBeingDeleted, type Stored } from '#/api/metadata.ts'
import { selectorFromLabels } from '#/api/selectors/selector.ts'
import { isPodReady } from '#/controllers/pods.ts'
import type { World } from './world.ts'

/** Checks that each service's endpoints are exactly the selected ready pods. */
export function checkServices(world: World): readonly string[] {
  return world.of('services').flatMap(service => {
    if (service.spec?.selector === undefined) return []
    const want = addressesWanted(service, world)
    const what = `addresses of service ${keyOf(service)}`
    return [
      ...differ(`${what} in its slices`, addressesInSlices(service, world), want),
      ...differ(`${what} in its endpoints`, addressesInEndpoints(service, world), want),
    ]
  })
}

function addressesWanted({ metadata, spec }: Service, world: World): readonly string[] {
  const selector = selectorFromLabels(spec?.selector)
  return world
    .of('pods')
    .filter(pod => pod.metadata.namespace === metadata.namespace && selector.matches(pod.metadata.labels))
    .filter(pod => isPodReady(pod) && !isBeingDeleted(pod))
    .map(({ status }) => status?.podIP ?? '')
}

function addressesInSlices({ metadata }: Service, world: World): readonly string[] {
  return world
    .of('endpointslices')
    .filter(slice => {
      const { namespace, labels } = slice.metadata
      return namespace === metadata.namespace && labels?.['kubernetes.io/service-name'] === metadata.name
    })
    .flatMap(({ endpoints = [] }) => endpoints.filter(({ conditions }) => conditions?.ready))
    .flatMap(({ addresses }) => addresses)
}

function addressesInEndpoints(service: Stored<Service>, world: World): readonly string[] {
  return world
    .of('endpoints')
    .filter(endpoints => keyOf(endpoints) === keyOf(service))
    .flatMap(({ subsets = [] }) => subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)))
}

function differ(what: string, are: readonly string[], want: readonly string[]): readonly string[] {
  const [is, should] = [are, want].map(addresses => addresses.toSorted().join())
  return is === should ? [] : [`${what}: ${is} instead of ${should}`]
}
