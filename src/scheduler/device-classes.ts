/** Maps an extended resource to the DeviceClass that provides it. */
import { isExtendedResource } from '#/api/core/pod-resources.ts'
import type { DeviceClass } from '#/api/generated/resource/v1.ts'
import { deviceClasses } from '#/api/generated/resource/v1-resources.ts'
import type { Stored } from '#/api/metadata.ts'
import type { PluginHandle } from './framework.ts'

/** Undefined if no class provides the resource. */
export type DeviceClassOf = (resource: string) => Stored<DeviceClass> | undefined

/** Every class can be requested as an extended resource with this prefix and its name. */
const classPrefix = 'deviceclass.resource.kubernetes.io/'

export function deviceClassOf(handle: PluginHandle): DeviceClassOf {
  const classes = handle.informer(deviceClasses)
  const byResource = classes.index('extended resource', ({ spec }) => {
    return spec.extendedResourceName === undefined ? [] : [spec.extendedResourceName]
  })
  return resource => {
    if (resource.startsWith(classPrefix)) return classes.get(resource.slice(classPrefix.length))
    return isExtendedResource(resource) ? newest(byResource.get(resource)) : undefined
  }
}

/** If several classes provide a resource the newest wins, so that a resource can be moved to a new class. */
function newest([first, ...others]: readonly Stored<DeviceClass>[]): Stored<DeviceClass> | undefined {
  return others.reduce((best, each) => (isPreferred(each, best!) ? each : best), first)
}

function isPreferred({ metadata }: Stored<DeviceClass>, than: Stored<DeviceClass>): boolean {
  const [own, other] = [metadata.creationTimestamp, than.metadata.creationTimestamp]
  return own > other || (own === other && metadata.name < than.metadata.name)
}
