/** The default profile, used without a configuration file. */
import { defaultPlugins } from './plugins.ts'
import { profileOf, type MakeProfiles } from './profile.ts'

export const defaultProfiles: MakeProfiles = context => {
  const plugins = [...defaultPlugins].map(([, { make, weight = 1 }]) => ({
    plugin: make(context, {}),
    weight,
  }))
  return [profileOf({ schedulerName: 'default-scheduler', plugins, percentageOfNodesToScore: 0 })]
}
