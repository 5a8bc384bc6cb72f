/** The default profile, used without a configuration file. */
import { defaultPlugins } from './plugins.ts'
import { profileOf, type ProfileFactory } from './profile.ts'

export const defaultProfiles: ProfileFactory = handle => {
  const plugins = [...defaultPlugins].map(([, { make, weight = 1 }]) => ({
    plugin: make(handle, {}),
    weight,
  }))
  return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
}
