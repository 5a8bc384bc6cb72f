import { listEntriesCommand } from '../../config/entry-commands.ts'

export const command = listEntriesCommand('user')
