/** Device taints and tolerations. */
import type { DeviceTaint, DeviceToleration } from '../generated/resource/v1.ts'

/** A missing key matches every key, a missing effect every effect. */
export function toleratesDeviceTaint(
  { key = '', operator = 'Equal', value = '', effect = '' }: DeviceToleration,
  taint: DeviceTaint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false
  if (key !== '' && key !== taint.key) return false
  return operator === 'Exists' || ((operator === 'Equal' || operator === '') && value === (taint.value ?? ''))
}
