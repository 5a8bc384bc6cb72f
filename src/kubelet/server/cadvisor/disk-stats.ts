/** A block device in `/proc/diskstats`. https://docs.kernel.org/admin-guide/iostats.html */
export interface DiskStats {
  /** Such as `8:0`. */
  readonly number: string
  /** Such as `/dev/sda`. */
  readonly device: string
  readonly reads: number
  readonly readsMerged: number
  readonly sectorsRead: number
  readonly readSeconds: number
  readonly writes: number
  readonly writesMerged: number
  readonly sectorsWritten: number
  readonly writeSeconds: number
  readonly inProgress: number
  readonly ioSeconds: number
  readonly weightedIoSeconds: number
}

export function diskStats(text: string): readonly DiskStats[] {
  return text.split('\n').flatMap(line => {
    const [major = '', minor = '', name, ...figures] = line.trim().split(/\s+/)
    const at = (index: number): number => Number(figures[index] ?? 0)
    if (name === undefined) return []
    return [
      {
        number: `${major}:${minor}`,
        device: `/dev/${name}`,
        reads: at(0),
        readsMerged: at(1),
        sectorsRead: at(2),
        readSeconds: at(3) / 1_000,
        writes: at(4),
        writesMerged: at(5),
        sectorsWritten: at(6),
        writeSeconds: at(7) / 1_000,
        inProgress: at(8),
        ioSeconds: at(9) / 1_000,
        weightedIoSeconds: at(10) / 1_000,
      },
    ]
  })
}
