/** Rules of Binding, with which the scheduler assigns a pod to a node. */
import { notSupported, required, type FieldError } from '../../field-error.ts'
import type { Binding } from '../../generated/core/v1.ts'
import type { KindRules } from '../../kind-rules.ts'

export const bindingRules: KindRules<Binding> = { validate: validateBinding }

function validateBinding({ target }: Binding): FieldError[] {
  const errors: FieldError[] = []
  const { kind, name } = target ?? {}
  if (kind && kind !== 'Node') errors.push(notSupported('target.kind', kind, ['Node', '<empty>']))
  if (!name) errors.push(required('target.name', ''))
  return errors
}
