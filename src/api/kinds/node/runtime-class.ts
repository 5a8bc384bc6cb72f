/** Rules of RuntimeClass. https://kubernetes.io/docs/concepts/containers/runtime-class/ */
import { duplicate, type FieldError } from '../../field-error.ts'
import type { Toleration } from '../../generated/core/v1.ts'
import type { RuntimeClass } from '../../generated/node/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { validateLabels } from '../../labels.ts'
import { checkDns1123Label } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { deprecatedNodeLabels } from '../validation/deprecated-node-labels.ts'
import { validateRequiredName } from '../validation/field-checks.ts'
import { validateOverhead } from '../pod/resource-validation.ts'
import { validateTolerations } from '../pod/scheduling-validation.ts'

export const runtimeClassRules: KindRules<RuntimeClass> = {
  allowsUnqualifiedFinalizers: true,
  allowCreateOnUpdate: true,
  allowUnconditionalUpdate: false,
  validate: validateRuntimeClass,
  validateUpdate: (runtimeClass, old) => [
    ...validateRuntimeClass(runtimeClass),
    ...validateImmutable(runtimeClass.handler, old.handler, 'handler'),
  ],
  warnings: warningsForLabels,
}

function validateRuntimeClass({ handler, overhead, scheduling }: RuntimeClass): FieldError[] {
  return [
    ...validateRequiredName('handler', handler, checkDns1123Label),
    ...(overhead ? validateOverhead('overhead', overhead.podFixed ?? {}) : []),
    ...validateLabels('scheduling.nodeSelector', scheduling?.nodeSelector),
    ...validateDistinct('scheduling.tolerations', scheduling?.tolerations ?? []),
  ]
}

/** Tolerations are merged into those of the pod and must be unique. */
function validateDistinct(field: string, tolerations: readonly Toleration[]): FieldError[] {
  const seen = new Set<string>()
  const repeated = tolerations.flatMap((toleration, index) => {
    const { key, operator, value, effect } = toleration
    const identity = JSON.stringify([key ?? '', operator ?? '', value ?? '', effect ?? ''])
    if (seen.has(identity)) return [duplicate(`${field}[${index}]`, toleration)]
    seen.add(identity)
    return []
  })
  return [...validateTolerations(field, tolerations), ...repeated]
}

function warningsForLabels({ scheduling }: RuntimeClass): string[] {
  return Object.keys(scheduling?.nodeSelector ?? {}).flatMap(key => {
    const advice = deprecatedNodeLabels.get(key)
    return advice === undefined ? [] : [`scheduling.nodeSelector: ${advice}`]
  })
}
