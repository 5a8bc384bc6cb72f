/**
 * A thread that copies a consistent state of the database, through a separate connection, while writes
 * continue.
 */
import { closeSync, fsyncSync, openSync } from 'node:fs'
import { workerData } from 'node:worker_threads'
import { openForReading } from './database.ts'

export interface CopyOptions {
  readonly from: string
  readonly to: string
}

const { from, to } = workerData as CopyOptions
const database = openForReading(from)
database.prepare('VACUUM INTO ?').run(to)
database.close()

const file = openSync(to, 'r')
fsyncSync(file)
closeSync(file)
