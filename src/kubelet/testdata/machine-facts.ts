/** Machine facts for tests. */
import type { MachineInfo } from '#/platform/linux.ts'

export const machineFacts: MachineInfo = {
  isRoot: true,
  processors: 4,
  memoryBytes: 8 * 1024 ** 3,
  architecture: 'amd64',
  kernelVersion: '6.1.0',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  machineId: 'machine',
  bootId: 'first',
  systemUuid: 'system',
  hostname: 'box',
  cgroupVersion: 2,
  hasSystemd: true,
  swapBytes: 0,
}
