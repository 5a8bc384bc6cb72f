/** A thread that copies the database as it is at one moment, through a connection of its own, while writes go on. */
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
