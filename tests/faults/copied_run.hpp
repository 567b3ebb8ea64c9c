#pragma once

/// What a shim does so that every call of a run fails once without the run being repeated as often: at each call the
/// process forks, the child goes on in a copy of the folder, and the parent waits for it.
namespace copied_run {

/// True in the child, which has a copy of the run's folder at the folder's place (a mount namespace of its own) and its
/// open files in that copy. The parent returns false after the child's end was judged by whoever reads PLUMB_FAULT_ASK
/// ("NUMBER STATUS" per line, the status as `waitpid` gives it) and writes a byte to PLUMB_FAULT_ANSWER.
/// The run's folder is PLUMB_FAULT_FOLDER; the copy lies beside it, its name the number.
/// @return false in both when there is no such folder
bool goes_on_in_copy(long number);

}  // namespace copied_run
