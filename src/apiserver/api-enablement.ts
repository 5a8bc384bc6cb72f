/**
 * kube-apiserver's `--runtime-config` and `--feature-gates`, as far as they have an effect here: versions of built-in
 * groups that are not served by default, and features that are off by default.
 */
import { builtinResources, type BuiltinResource } from '#/api/builtin.ts'
import { UsageError, type Flag } from '#/base/flags.ts'

const featureGates = ['StorageVersionMigrator'] as const

export type FeatureGate = (typeof featureGates)[number]

export const featureGatesFlag: Flag<readonly FeatureGate[]> = {
  value: 'NAME=true',
  help: `features that are off by default: ${featureGates.join(', ')}`,
  read: texts =>
    settingsIn(texts).flatMap(([name, isOn]) => {
      const gate = featureGates.find(each => each === name)
      if (gate === undefined) throw new UsageError(`${name} cannot be set: only ${featureGates.join(', ')}`)
      return isOn ? [gate] : []
    }),
}

/** Values such as `storagemigration.k8s.io/v1beta1`. */
export const runtimeConfigFlag: Flag<readonly string[]> = {
  value: 'VERSION=true',
  help: 'further API versions: storagemigration.k8s.io/v1beta1=true',
  read: texts =>
    settingsIn(texts).flatMap(([name, isOn]) => {
      const versions = builtinResources().filter(resource => versionOf(resource) === name)
      if (versions.length === 0) throw new UsageError(`there is no API version ${name}`)
      if (!isOn && versions.some(each => each.enabledByDefault))
        throw new UsageError(`${name} is served by default and cannot be disabled`)
      return isOn ? [name] : []
    }),
}

/** The built-in resources that are served. */
export function enabledResources(versions: readonly string[] = []): readonly BuiltinResource[] {
  return builtinResources().filter(each => each.enabledByDefault || versions.includes(versionOf(each)))
}

function versionOf({ group, version }: BuiltinResource): string {
  return group === '' ? version : `${group}/${version}`
}

function settingsIn(texts: readonly string[]): readonly (readonly [name: string, isOn: boolean])[] {
  const words = texts.flatMap(text => text.split(',')).filter(word => word !== '')
  return words.map(word => {
    const [, name = '', value] = /^([^=]+)=(true|false)$/i.exec(word.trim()) ?? []
    if (value === undefined) throw new UsageError(`${word} must be NAME=true or NAME=false`)
    return [name, value.toLowerCase() === 'true']
  })
}
