import type { FlagValues } from '#/base/flags.ts'
import type { Configuration } from '#/kubeadm/configuration.ts'
import type { InitSettings } from '#/kubeadm/init-settings.ts'
import type { SubcommandInvocation } from '../subcommands.ts'
import type { ControlPlaneHost } from '../control-plane-host.ts'
import type { initFlags } from './flags.ts'

export interface PhaseRun extends SubcommandInvocation<typeof initFlags> {
  readonly flags: FlagValues<typeof initFlags>
  readonly settings: InitSettings
  readonly configuration: Configuration
  readonly controlPlane: ControlPlaneHost
  /** `all`, or a part of the phase. */
  readonly part: string
}

export interface Phase {
  readonly parts: readonly string[]
  /** Resolves to the exit code if the phase can fail without an error. */
  run(phase: PhaseRun): Promise<number | void>
}
