/**
 * Validation of `configSource` and `status.config` of a node (dynamic kubelet configuration, a removed
 * feature).
 */
import { forbiddenField, invalid, required, type FieldError } from '../../../field-error.ts'
import type {
  ConfigMapNodeConfigSource,
  NodeConfigSource,
  NodeConfigStatus,
} from '../../../generated/core/v1.ts'
import { checkConfigMapKey, checkDns1123Label, checkDns1123Subdomain } from '../../../names.ts'
import { validateRequiredName } from '../../validation/field-checks.ts'

/** In the spec, without uid and resourceVersion of the ConfigMap. */
export function validateConfigSource(field: string, source: NodeConfigSource): FieldError[] {
  return validateSource(field, source, (each, { uid, resourceVersion }) => [
    ...(uid ? [forbiddenField(`${each}.uid`, 'uid must not be set in spec')] : []),
    ...(resourceVersion
      ? [forbiddenField(`${each}.resourceVersion`, 'resourceVersion must not be set in spec')]
      : []),
  ])
}

/** In the status, with uid and resourceVersion of the ConfigMap. */
export function validateConfigStatus(field: string, status: NodeConfigStatus): FieldError[] {
  return (['assigned', 'active', 'lastKnownGood'] as const).flatMap(name => {
    const source = status[name]
    if (source === undefined) return []
    return validateSource(`${field}.${name}`, source, (each, { uid, resourceVersion }) => [
      ...(uid ? [] : [required(`${each}.uid`, '')]),
      ...(resourceVersion ? [] : [required(`${each}.resourceVersion`, '')]),
    ])
  })
}

function validateSource(
  field: string,
  source: NodeConfigSource,
  validateVersion: (field: string, source: ConfigMapNodeConfigSource) => FieldError[],
): FieldError[] {
  const { configMap } = source
  if (configMap === undefined) {
    return [invalid(field, { ConfigMap: null }, 'exactly one reference subfield must be non-nil')]
  }
  const { namespace, name, kubeletConfigKey } = configMap
  return [
    ...validateVersion(`${field}.configMap`, configMap),
    ...validateRequiredName(`${field}.configMap.namespace`, namespace, checkDns1123Label),
    ...validateRequiredName(`${field}.configMap.name`, name, checkDns1123Subdomain),
    ...validateRequiredName(`${field}.configMap.kubeletConfigKey`, kubeletConfigKey, checkConfigMapKey),
  ]
}
