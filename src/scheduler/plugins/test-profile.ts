/** Profiles for tests: the default plugins and the given ones. */
import { defaultPlugins, type PluginEntry } from '../plugins.ts'
import { profileOf, type ProfileFactory } from '../profile.ts'
import { dynamicResources } from './dynamic-resources.ts'
import { nodeVolumeLimits } from './node-volume-limits.ts'
import { testSelectors } from './dynamic-resources/test-selectors.ts'
import { volumeBinding } from './volume-binding.ts'
import { volumeRestrictions } from './volume-restrictions.ts'
import { volumeZone } from './volume-zone.ts'

const added: readonly (readonly [string, PluginEntry])[] = [
  ['VolumeRestrictions', { make: volumeRestrictions }],
  ['NodeVolumeLimits', { make: nodeVolumeLimits }],
  ['VolumeBinding', { make: volumeBinding }],
  ['VolumeZone', { make: volumeZone }],
  ['DynamicResources', { make: dynamicResources(testSelectors), weight: 2 }],
]

export const testProfiles: ProfileFactory = handle => {
  const plugins = [...new Map([...added, ...defaultPlugins, ...added])].map(([, { make, weight = 1 }]) => {
    return { plugin: make(handle, {}), weight }
  })
  return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
}
