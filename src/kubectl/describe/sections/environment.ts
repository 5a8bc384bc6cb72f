import type { Container, EnvFromSource, EnvVar, ObjectFieldSelector } from '#/api/generated/core/v1.ts'
import { isHugePageResourceName } from '#/api/core/resource-names.ts'
import { quantityOf } from '#/api/core/resource-amounts.ts'
import { quantityMilliValue, quantityValue } from '#/api/text/quantity.ts'
import type { DescribeWriter } from '../describe-writer.ts'

export type FieldValueOf = (field: ObjectFieldSelector) => string

export function describeEnvironment(
  writer: DescribeWriter,
  container: Container,
  fieldValueOf: FieldValueOf = () => '',
): void {
  const { env = [], envFrom = [] } = container
  if (envFrom.length > 0) writer.write(2, 'Environment Variables from:\n')
  writer.rows(3, envFrom.map(envFromCells))
  writer.write(2, `Environment:${env.length === 0 ? '\t<none>' : ''}\n`)
  for (const variable of env) writer.rows(3, variableRows(variable, { container, fieldValueOf }))
}

function envFromCells({ configMapRef, secretRef, prefix }: EnvFromSource): string[] {
  const source = configMapRef ?? secretRef
  const kind = configMapRef ? 'ConfigMap' : secretRef ? 'Secret' : ''
  const from = prefix ? `${kind} with prefix '${prefix}'` : kind
  return [source?.name ?? '', from, `Optional: ${source?.optional ?? false}`]
}

interface Surroundings {
  readonly container: Container
  readonly fieldValueOf: FieldValueOf
}

function variableRows(
  { name, value = '', valueFrom }: EnvVar,
  { container, fieldValueOf }: Surroundings,
): string[][] {
  if (!valueFrom) return value.split('\n').map((line, index) => [index === 0 ? `${name}:` : '', line])
  const { fieldRef, resourceFieldRef, secretKeyRef, configMapKeyRef } = valueFrom
  if (fieldRef) {
    return [[`${name}:`, `${fieldValueOf(fieldRef)} (${fieldRef.apiVersion ?? ''}:${fieldRef.fieldPath})`]]
  }
  if (resourceFieldRef) {
    const { resource, divisor } = resourceFieldRef
    return [[`${name}:`, `${resourceValue(container, resource, divisor)} (${resource})`]]
  }
  if (secretKeyRef) {
    const { key, name: secret = '', optional = false } = secretKeyRef
    return [[`${name}:`, `<set to the key '${key}' in secret '${secret}'>`, `Optional: ${optional}`]]
  }
  if (configMapKeyRef) {
    const { key, name: map = '', optional = false } = configMapKeyRef
    return [[`${name}:`, `<set to the key '${key}' of config map '${map}'>`, `Optional: ${optional}`]]
  }
  return []
}

/** In units of the divisor, rounded up; empty for a resource that containers cannot refer to. */
function resourceValue(container: Container, resource: string, divisor = ''): string {
  const [kind = '', ...rest] = resource.split('.')
  const name = rest.join('.')
  if ((kind !== 'limits' && kind !== 'requests') || !isReferable(name)) return ''
  const amount = quantityOf(container.resources?.[kind]?.[name] ?? '0')
  const unit = quantityOf(divisor)
  const valueIn = name === 'cpu' ? quantityMilliValue : quantityValue
  const perUnit = unit.nanos === 0n ? valueIn(quantityOf('1')) : valueIn(unit)
  const value = Math.ceil(Number(valueIn(amount)) / Number(perUnit))
  const isUnlimited = value === 0 && (resource === 'limits.cpu' || resource === 'limits.memory')
  return isUnlimited ? 'node allocatable' : String(value)
}

function isReferable(name: string): boolean {
  return ['cpu', 'memory', 'ephemeral-storage'].includes(name) || isHugePageResourceName(name)
}
