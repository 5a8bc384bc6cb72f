/**
 * KubeControllerManagerConfiguration, with the field names of `/configz`. Each field means the flag of the same
 * setting, and a field without a flag is refused.
 * https://kubernetes.io/docs/reference/config-api/kube-controller-manager-config.v1alpha1/
 */
import { parseYaml } from '#/api/text/yaml.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { UsageError } from '#/base/flags.ts'
import { messageOf } from '#/base/message-of.ts'
import { controllerManagerFlags, flagOfField, type ControllerManagerFlags } from './flags.ts'

const apiVersion = 'kubecontrollermanager.config.k8s.io/v1alpha1'
const kind = 'KubeControllerManagerConfiguration'

/** Throws UsageError. */
export function readControllerManagerConfiguration(text: string): ControllerManagerFlags {
  const file = parsed(text)
  const { apiVersion: givenVersion, kind: givenKind, ...fields } = file
  if (givenVersion !== apiVersion || givenKind !== kind)
    throw new UsageError(`must have apiVersion ${apiVersion} and kind ${kind}`)
  return Object.fromEntries(leavesOf(fields, '').map(([path, value]) => readField(path, value)))
}

function parsed(text: string): Readonly<Record<string, JsonValue>> {
  let value: JsonValue
  try {
    value = parseYaml(text)
  } catch (cause) {
    throw new UsageError(
      messageOf(cause)
        .trim()
        .replaceAll(/\s*\n\s*/g, '; '),
      { cause },
    )
  }
  if (!isObject(value)) throw new UsageError('must be an object')
  return value
}

function readField(path: string, value: JsonValue): readonly [string, unknown] {
  const name = flagOfField.get(path)
  if (name === undefined) throw new UsageError(`field ${path} has no meaning here`)
  try {
    return [name, controllerManagerFlags[name].read([textOf(value)])]
  } catch (cause) {
    throw new UsageError(`${path}: ${messageOf(cause)}`, { cause })
  }
}

function textOf(value: JsonValue): string {
  if (Array.isArray(value)) return value.map(textOf).join(',')
  if (value === null || isObject(value)) throw new UsageError('must be a value')
  return String(value)
}

function leavesOf(fields: Readonly<Record<string, JsonValue>>, prefix: string): [string, JsonValue][] {
  return Object.entries(fields).flatMap(([name, value]) =>
    isObject(value) ? leavesOf(value, `${prefix}${name}.`) : [[`${prefix}${name}`, value]],
  )
}

function isObject(value: JsonValue): value is Readonly<Record<string, JsonValue>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
