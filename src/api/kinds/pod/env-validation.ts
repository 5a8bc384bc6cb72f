/** Validation of `env` and `envFrom`. */
import { invalid, invalidEach, type FieldError } from '../../field-error.ts'
import type { ConfigMapKeySelector, EnvFromSource, EnvVar, FileKeySelector } from '../../generated/core/v1.ts'
import {
  checkConfigMapKey,
  checkDns1123Label,
  checkDns1123Subdomain,
  checkRelaxedEnvVarName,
} from '../../names.ts'
import { validateFieldSelector, validateResourceSelector } from './downward-api.ts'
import { validatePresent, validateRequiredName } from '../validation/field-checks.ts'
import { validatePathNoBacksteps } from '../validation/paths.ts'

export function validateEnv(field: string, variables: readonly EnvVar[] | undefined): FieldError[] {
  return (variables ?? []).flatMap((variable, index) => [
    ...validateRequiredName(`${field}[${index}].name`, variable.name, checkRelaxedEnvVarName),
    ...validateValueFrom(`${field}[${index}].valueFrom`, variable),
  ])
}

const envFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]

function validateValueFrom(field: string, { value, valueFrom }: EnvVar): FieldError[] {
  if (valueFrom === undefined) return []
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom
  const errors = [
    ...(fieldRef ? validateFieldSelector(`${field}.fieldRef`, fieldRef, envFields) : []),
    ...(resourceFieldRef ? validateResourceSelector(`${field}.resourceFieldRef`, resourceFieldRef) : []),
    ...(configMapKeyRef ? validateKeySelector(`${field}.configMapKeyRef`, configMapKeyRef) : []),
    ...(secretKeyRef ? validateKeySelector(`${field}.secretKeyRef`, secretKeyRef) : []),
    ...(fileKeyRef ? validateFileKeySelector(`${field}.fileKeyRef`, fileKeyRef) : []),
  ]
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(
    Boolean,
  ).length
  if (sources === 0) errors.push(invalid(field, '', oneSourceNeeded))
  else if (value) errors.push(invalid(field, '', 'may not be specified when `value` is not empty'))
  else if (sources > 1)
    errors.push(invalid(field, '', 'may not have more than one field specified at a time'))
  return errors
}

const oneSourceNeeded =
  'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`'

/** Validates a reference to a key of a ConfigMap or Secret. */
function validateKeySelector(field: string, { name = '', key }: ConfigMapKeySelector): FieldError[] {
  return [
    ...invalidEach(`${field}.name`, name, checkDns1123Subdomain(name)),
    ...validateRequiredName(`${field}.key`, key, checkConfigMapKey),
  ]
}

function validateFileKeySelector(field: string, { key, volumeName, path }: FileKeySelector): FieldError[] {
  return [
    ...validateRequiredName(`${field}.key`, key, checkRelaxedEnvVarName),
    ...validateRequiredName(`${field}.volumeName`, volumeName, checkDns1123Label),
    ...validatePresent(`${field}.path`, path),
    ...validatePathNoBacksteps(`${field}.path`, path ?? ''),
  ]
}

/** As in Kubernetes, errors about the number of sources refer to the list, not to the entry. */
export function validateEnvFrom(field: string, sources: readonly EnvFromSource[] | undefined): FieldError[] {
  return (sources ?? []).flatMap(({ prefix, configMapRef, secretRef }, index) => {
    const place = `${field}[${index}]`
    const errors = prefix ? invalidEach(`${place}.prefix`, prefix, checkRelaxedEnvVarName(prefix)) : []
    if (configMapRef) {
      errors.push(
        ...validateRequiredName(`${place}.configMapRef.name`, configMapRef.name, checkDns1123Subdomain),
      )
    }
    if (secretRef) {
      errors.push(...validateRequiredName(`${place}.secretRef.name`, secretRef.name, checkDns1123Subdomain))
    }
    if (!configMapRef && !secretRef) {
      errors.push(invalid(field, '', 'must specify one of: `configMapRef` or `secretRef`'))
    }
    if (configMapRef && secretRef) {
      errors.push(invalid(field, '', 'may not have more than one field specified at a time'))
    }
    return errors
  })
}
