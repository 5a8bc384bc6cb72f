/** The platform of a process on a simulated host. */
import type { Platform } from '#/platform/platform.ts'
import type { SimulatedHost } from '#/platform/simulated.ts'

/**
 * What the host provides until it crashes. After a restart the host itself provides other resources, which code of the
 * process before must not use.
 */
export function platformOf({ clock, random, network, files, processes, log }: SimulatedHost): Platform {
  return { clock, random, network, files, processes, log }
}
