import { deleteEntryCommand } from '../../config/entry-commands.ts'

export const command = deleteEntryCommand('context')
