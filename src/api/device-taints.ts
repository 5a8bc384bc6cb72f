/** Taints of devices, and what is tolerated of them. */
import type { DeviceTaint, DeviceToleration } from './generated/resource/v1.ts'

/** No key stands for every key, no effect for every effect. */
export function toleratesDeviceTaint(
  { key = '', operator = 'Equal', value = '', effect = '' }: DeviceToleration,
  taint: DeviceTaint,
): boolean {
  if (effect !== '' && effect !== taint.effect) return false
  if (key !== '' && key !== taint.key) return false
  return operator === 'Exists' || ((operator === 'Equal' || operator === '') && value === (taint.value ?? ''))
}
