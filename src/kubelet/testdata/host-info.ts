/** Machine facts for tests. */
import type { HostInfo } from '#/platform/linux.ts'

export const hostInfo: HostInfo = {
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
