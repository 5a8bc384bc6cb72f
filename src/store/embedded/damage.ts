/** What is wrong with the files of a store. */
export interface Damage {
  /** The affected file, without its folder. */
  readonly file: string
  readonly positionBytes?: number
  readonly reason: string
}

/** The files of a store are not what was acknowledged. Nothing was changed. */
export class StoreDamagedError extends Error {
  readonly damages: readonly Damage[]

  constructor(folder: string, damages: readonly Damage[]) {
    super(
      `the store in ${folder} is damaged: ${damages.map(describeDamage).join('; ')}. ` +
        'Restore a snapshot with "k8ts snapshot restore", or accept the loss of what is damaged with ' +
        '"k8ts store repair --accept-loss"; "k8ts store check" shows the extent',
    )
    this.name = 'StoreDamagedError'
    this.damages = damages
  }
}

export function describeDamage({ file, positionBytes, reason }: Damage): string {
  return positionBytes === undefined ? `${file}: ${reason}` : `${file} at byte ${positionBytes}: ${reason}`
}

/** A snapshot is not what was saved: it must not be restored. */
export class SnapshotDamagedError extends Error {
  constructor(path: string, reason: string, positionBytes?: number) {
    const place = positionBytes === undefined ? '' : ` at byte ${positionBytes}`
    super(`the snapshot ${path} is damaged${place}: ${reason}. Use another one: k8ts snapshot ls shows them`)
    this.name = 'SnapshotDamagedError'
  }
}
