/** Machine facts for tests. */
import type { MachineInfo } from '../machine-info.ts'
import { hostInfo } from '../testdata/host-info.ts'

export const machine: MachineInfo = {
  memoryBytes: hostInfo.memoryBytes,
  cgroupVersion: 2,
  canLimitSwap: true,
  hugePageSizes: [],
  maskedPaths: [],
  pidsMax: 32_768,
  capacity: { 'cpu': '4', 'memory': '8Gi', 'ephemeral-storage': '100Gi', 'pods': '110' },
  allocatable: { 'cpu': '4', 'memory': '8092Mi', 'ephemeral-storage': '90Gi', 'pods': '110' },
}
