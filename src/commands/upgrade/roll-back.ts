/** Replaces the process of a data folder, and goes back to the program of before when the new one is not ready. */
import { messageOf } from '#/base/message-of.ts'
import type { HolderProgram } from '#/cluster/lock-folder.ts'
import type { Platform } from '#/platform/node.ts'
import manifest from '../../../package.json' with { type: 'json' }
import type { UpgradeRun } from './apply.ts'
import { readReplacedProcess, replaceProcess } from './replace-process.ts'
import { waitForHealth } from './wait-for-health.ts'

/** Resolves to false when the upgrade has failed, whether or not the roll-back succeeded; both are shown. */
export async function replaceOrRollBack(run: UpgradeRun): Promise<boolean> {
  const { platform, terminal, folder, launcher, replaced } = run
  const { version } = manifest
  const { program: previous } = replaced.holder
  const onProgress = (line: string): void => terminal.write(`[upgrade/control-plane] ${line}\n`)
  const options = { platform, folder, onProgress }
  try {
    const holder = await replaceProcess({ ...options, launcher, version }, replaced)
    await waitForHealth(run, { version, onProgress })
    onProgress(`process ${holder.pid} runs k8ts ${version}`)
    return true
  } catch (error) {
    terminal.writeError(
      `[upgrade/control-plane] k8ts ${version} is not ready: ${messageOf(error)}; see k8ts status and the logs\n`,
    )
  }
  const way = await planRollBack(platform, previous, launcher)
  if (way.type === 'impossible') {
    terminal.writeError(`[upgrade/control-plane] Cannot roll back: ${way.reason}\n`)
    return false
  }
  onProgress(`Rolling back to k8ts ${way.version}`)
  try {
    const current = (await readReplacedProcess(platform, folder)) ?? replaced
    await replaceProcess({ ...options, ...way }, { ...current, parameters: replaced.parameters })
    await waitForHealth(run, { version: way.version, onProgress })
    onProgress(`Rolled back: k8ts ${way.version} runs`)
  } catch (error) {
    terminal.writeError(`[upgrade/control-plane] The roll-back failed: ${messageOf(error)}\n`)
  }
  return false
}

type RollBack =
  | { readonly type: 'possible'; readonly launcher: string; readonly version: string }
  | { readonly type: 'impossible'; readonly reason: string }

/** The files of the program of before may have been replaced by those of this one. */
async function planRollBack(
  { processes }: Platform,
  previous: HolderProgram | undefined,
  launcher: string,
): Promise<RollBack> {
  const again = 'install the package of before again, and run its k8ts upgrade apply'
  if (previous?.launcher === undefined)
    return { type: 'impossible', reason: `the program that ran before is not known: ${again}` }
  if (previous.launcher === launcher)
    return { type: 'impossible', reason: `${launcher} has been replaced by this version: ${again}` }
  const child = await processes.start([previous.launcher, 'version'])
  let output = ''
  for await (const piece of child.stdout) output += String(piece)
  if (!output.startsWith(`k8ts ${previous.version} `))
    return {
      type: 'impossible',
      reason: `${previous.launcher} is not k8ts ${previous.version} any more: ${again}`,
    }
  return { type: 'possible', launcher: previous.launcher, version: previous.version }
}
